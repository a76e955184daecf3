"""
Packages for tables read Counts through Arrow's PyCapsule interface, and the example draws them.
scripts/check_python.sh installs these packages and runs this.
"""
import pathlib
import random
import subprocess
import sys

import duckdb
import polars
import pyarrow
import pytest

import kcount

SEQUENCES = ["".join(random.Random(7).choices("ACGT", k=50_000)), "GATTACA" * 30]


@pytest.fixture(params=[5, 31, 33])
def counts(request):
    return kcount.count_sequences(SEQUENCES, request.param)


def rows_of(counts):
    return [(kmer, int(count)) for kmers, found in counts.batches()
            for kmer, count in zip(kcount.decode(kmers, counts.k), found)]


def test_polars(counts):
    frame = polars.DataFrame(counts)
    assert frame.schema == {"kmer": polars.String, "count": polars.UInt32}
    assert frame.rows() == rows_of(counts)
    assert frame["count"].sum() == counts.total


def test_pyarrow(counts):
    reader = pyarrow.RecordBatchReader.from_stream(counts)
    rows = rows_of(counts)
    counts.close()  # the reader keeps the file open
    table = reader.read_all()
    table.validate(full=True)
    assert table.schema.metadata[b"canonical"] == b"true"
    assert list(zip(*(column.to_pylist() for column in table.columns))) == rows


def test_duckdb(counts):
    top = duckdb.from_arrow(counts).order("count DESC, kmer").limit(10).fetchall()
    assert top == sorted(rows_of(counts), key=lambda row: (-row[1], row[0]))[:10]


def test_example(tmp_path):
    source, picture = pathlib.Path(__file__).parents[2], tmp_path / "spectrum.png"
    subprocess.run([sys.executable, source / "examples/spectrum.py", source / "data/phage.fq.gz",
                    picture], check=True)
    assert picture.read_bytes().startswith(b"\x89PNG")
