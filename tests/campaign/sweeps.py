"""The long tests that are run once a campaign: each is a program of its own, in whole."""


def run_all(setting, seed, keep):
    return []
