"""The optional reading of captures by a language model, which only ever proposes (CORTEX_LLM_URL).

`chat` asks the model, `drafts` judges what it says, `backlog` works off what waits, `worker` is the server's thread.
"""
