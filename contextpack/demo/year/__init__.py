"""A year of Brightwater Instruments, an invented company of eight that measures water for fish farms and harbours.

What its people and their agents would have had remembered: `words` and `places` hold the sentences, `script` lays them
out over the year, `filling` writes them down through the verbs and asks as the agents would have. The same seed and the
same moment give the same texts at the same moments.
"""
