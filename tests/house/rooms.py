"""
Check the includes against the table of rooms in docs/dev/design.md, and that the table has no
cycle.

    rooms.py SOURCE

A room is a folder; a row of the table also covers the folders within, unless they have a row of
their own. A file may include headers of its own folder, and of the rooms that its row lists. A row
may also list a single header of a room whose other headers are not for it.
"""
import pathlib
import re
import sys

from sources import files

SOURCE = pathlib.Path(sys.argv[1])
PAGE = SOURCE / "docs/dev/design.md"
ROW = re.compile(r"^\| `([\w/]+)` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)


def table():
    """The rooms, and for each the rooms and headers that it may include."""
    rows = {room: set(re.findall(r"`([\w/.]+)`", allowed))
            for room, allowed in ROW.findall(PAGE.read_text())}
    unknown = {name for name in set().union(*rows.values()) - set(rows)
               if not (name.endswith((".h", ".cuh")) and (SOURCE / name).is_file())}
    if not rows or unknown:
        sys.exit(f"{PAGE}: the table of rooms is missing, or names rooms without a row, or headers "
                 f"that do not exist: {sorted(unknown)}")
    return rows


def room_of(folder, rows):
    """The room that covers this folder."""
    while folder not in rows:
        if "/" not in folder:
            return None
        folder = folder.rsplit("/", 1)[0]
    return folder


def below(room, rows):
    """The other rooms that this one may include, wholly or a header of theirs."""
    return {name if name in rows else room_of(str(pathlib.PurePosixPath(name).parent), rows)
            for name in rows[room]} - {room}


def floors(rows):
    """How many floors the rooms stand on, each above all that it may include; then the rooms that
    stand on none, because they are in a cycle or between two."""
    rest, n = {room: below(room, rows) for room in rows}, 0
    while True:
        floor = {room for room in rest if not rest[room] & rest.keys()}
        if not floor:
            break
        rest = {room: rest[room] for room in rest.keys() - floor}
        n += 1
    while rest.keys() - set().union(*rest.values()):
        rest = {room: rest[room] for room in rest.keys() & set().union(*rest.values())}
    return n, sorted(rest)


def headers_of(path):
    """The paths of the project's own headers that the file includes."""
    return INCLUDE.findall(path.read_text())


def violations(rows):
    """Includes that the table does not allow, and what it allows although no file needs it."""
    needed = {room: set() for room in rows}
    for path in files(SOURCE, sorted({room.split("/")[0] for room in rows})):
        folder = str(path.relative_to(SOURCE).parent)
        room = room_of(folder, rows)
        for header in headers_of(path):
            target = str(pathlib.PurePosixPath(header).parent)
            if not (SOURCE / header).is_file():
                yield f"{folder}/{path.name}: {header} is not a path from the root"
            elif room is None:
                yield f"{folder}/{path.name}: its folder is in no room"
            elif target != folder:
                used = {room_of(target, rows), header} & rows[room]
                needed[room] |= used
                if not used:
                    yield f"{folder}/{path.name} includes {header}, which {room} may not"
    for room, allowed in rows.items():
        for name in sorted(allowed - needed[room]):
            yield f"{room} may include {name}, but does not"


def main():
    rows = table()
    unused = [room for room in rows if not (SOURCE / room).is_dir()]
    nfloors, cycle = floors(rows)
    wrong = list(violations(rows)) + [f"{room} has a row, but is no folder" for room in unused]
    if cycle:
        wrong.append(f"rooms that include each other in a cycle: {' '.join(cycle)}")
    print("\n".join(wrong) or f"{len(rows)} rooms on {nfloors} floors")
    sys.exit(bool(wrong))


main()
