"""The kinds of cases, and how often each is drawn."""
from counting_cases import count_case
from damage_cases import damage_case
from hostile_cases import hostile_case
from stopping_cases import full_disk_case, signal_case
from store_cases import store_case

# name: (weight, what to do, what it is, for docs/reliability.md)
KINDS = {
    "count": (40, count_case, "random reads, formats and options against the naive counter; the file's bytes "
                              "against those of other options; now and then against jellyfish and kmc"),
    "store": (15, store_case, "random sequences of add, remove, compact and the set operations against a dictionary"),
    "hostile": (20, hostile_case, "damaged and malicious inputs"),
    "damage": (15, damage_case, "damaged .kc files, in every command that reads or changes them"),
    "signal": (5, signal_case, "signals at random times"),
    "full disk": (5, full_disk_case, "disks without room, and limits on the size of files"),
}


def draw(rng):
    return rng.choices(list(KINDS), [weight for weight, _, _ in KINDS.values()])[0]
