"""The kinds of cases: how often each is drawn, and its description for docs/dev/reliability.md."""
WEIGHTS = {"count": 40, "store": 15, "hostile": 20, "damage": 15, "signal": 5, "full disk": 5,
           "text": 8, "container": 10, "argument": 8, "many files": 2, "import": 6, "output": 8,
           "filter": 8}

ABOUT = {
    "count": "random reads, formats and options against the naive counter; the bytes of the .kc "
             "file against those from other options and formats; sometimes against jellyfish and "
             "KMC",
    "store": "random sequences of add, remove, compact and the set operations against a "
             "dictionary, with every way of reading after each",
    "hostile": "damaged and malicious inputs, query files and lists: a clear message, or the "
               "counts of what the file holds",
    "damage": "damaged .kc files, in every command that reads or changes them: an error, or the "
              "right answer",
    "signal": "signals at random times: the file is what it was or what it was to become, and "
              "nothing is left behind",
    "full disk": "full disks, and limits on the size of files: likewise",
    "text": "FASTA and FASTQ with something odd in one place: files joined without a line end, odd "
            "letters, indented headers; an error, or the right counts",
    "container": "compressed files that lack their end, are joined, or hold nothing, and BAM in "
                 "every container: an error, or the right counts with a warning",
    "argument": "lists of files from pipes, files that are given twice, -k given again, options "
                "that are abbreviated",
    "many files": "set operations over more .kc files than may be open, from lists, and twice over "
                  "the same one",
    "import": "truncated Jellyfish files and text without a last line end: an error, or a warning "
              "with the right counts",
    "output": "names of outputs that are refused or hold control characters; modes of files that "
              "are replaced",
    "filter": "random reads, pairs and alignments, filtered by random rules: every byte of what is "
              "kept and of the rest",
}


def draw(rng):
    return rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
