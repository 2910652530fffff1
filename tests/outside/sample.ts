// A client as somebody writes it against the generated types; it is type-checked, not run.
import type { components, operations } from "./api";

type Question = operations["post_context"]["requestBody"]["content"]["application/json"];
type Pack = operations["post_context"]["responses"][200]["content"]["application/json"];
type Memory = components["schemas"]["MemoryAnswer"];
type Refusal = components["schemas"]["Problem"];

const question: Question = { task: "Prepare the Atlas launch", format: "smp", model: "claude", token_budget: 3000 };

// @ts-expect-error a format that there is not
const wrong: Question = { task: "Prepare the Atlas launch", format: "xml" };

export async function ask(url: string, token: string): Promise<Pack> {
  const answer = await fetch(`${url}/v1/context`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(question),
  });
  if (!answer.ok) {
    const refusal = (await answer.json()) as Refusal;
    throw new Error((refusal.errors ?? []).map((error) => `${error.field}: ${error.message}`).join("; "));
  }
  return (await answer.json()) as Pack;
}

export function cited(pack: Pack): string[] {
  return (pack.items ?? []).map((item) => `${item.content} [${item.ref}] ${item.relevance?.toFixed(2) ?? ""}`);
}

export function standing(memory: Memory): string {
  const status: "pending" | "approved" | "archived" = memory.status;
  return memory.superseded_by === null ? status : `replaced by ${memory.superseded_by}`;
}

export const unused = wrong;
