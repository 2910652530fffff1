/* The keys of the review inbox. Each presses a button that is on the page, in the item that has the focus; without this
   script the buttons remain. */

"use strict";

(() => {
    const items = () => [...document.querySelectorAll("[data-item]")];
    const isWriting = (element) => element.matches("textarea, select, input:not([type=checkbox])");
    const current = () => document.activeElement.closest("[data-item]");

    const move = (step) => {
        const all = items();
        if (!all.length) return;
        const place = all.indexOf(current());
        const next = all[place < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(place + step, 0), all.length - 1)];
        next.focus();
        next.scrollIntoView({ block: "nearest" });
    };

    const edit = (item) => {
        const details = item.querySelector(".cx-edit");
        if (!details) return;
        details.open = true;
        details.querySelector("textarea").focus();
    };

    const count = () => {
        const told = document.querySelector("[data-selected-count]");
        const number = document.querySelectorAll("[data-select]:checked").length;
        if (told) told.textContent = number ? `(${number})` : "";
    };

    const act = (item, key) => {
        const box = item.querySelector("[data-select]");
        if (key === "x" && box) { box.checked = !box.checked; count(); return true; }
        if (key === "e") { edit(item); return true; }
        if (key === "o") { item.querySelector("dl a.ref").click(); return true; }
        const button = item.querySelector(`[data-act="${CSS.escape(key)}"]`);
        if (button) button.click();
        return Boolean(button);
    };

    document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
        const item = current();
        if (event.key === "Escape" && item) { item.focus(); return; }
        if (isWriting(event.target)) return;
        if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
        else if (!item || event.key.length !== 1 || !act(item, event.key)) return;
        event.preventDefault();
    });

    document.addEventListener("change", (event) => { if (event.target.matches("[data-select]")) count(); });

    const all = document.querySelector("[data-select-all]");
    if (all) {
        all.hidden = false;
        all.addEventListener("click", () => {
            const boxes = [...document.querySelectorAll("[data-select]")];
            const checked = boxes.some((box) => !box.checked);
            boxes.forEach((box) => { box.checked = checked; });
            count();
        });
    }
    count();
})();
