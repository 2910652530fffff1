"""How much of what a question needs arrives in its pack, measured on long histories with known evidence.

`histories` holds the values, `loading` reads them from files, `running` asks the questions, `scoring` does the sums,
`comparing` sets two runs side by side, and `tables` says it all in text.
"""
