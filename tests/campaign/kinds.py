"""The kinds of cases: how often each is drawn, and what it is, for docs/reliability.md."""
WEIGHTS = {"count": 40, "store": 15, "hostile": 20, "damage": 15, "signal": 5, "full disk": 5}

ABOUT = {
    "count": "random reads, formats and options against the naive counter; the .kc file's bytes against those of "
             "other options and formats; now and then against jellyfish and KMC",
    "store": "random sequences of add, remove, compact and the set operations against a dictionary, with every way "
             "of reading after each",
    "hostile": "damaged and malicious inputs, query files and lists: a clear message, or what the file holds",
    "damage": "damaged .kc files, in every command that reads or changes them: an error, or the right answer",
    "signal": "signals at random times: the file as it was or as it was to be, and nothing left behind",
    "full disk": "disks without room, and limits on the size of files: likewise",
}


def draw(rng):
    return rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
