"""
Questions that lie on a CUDA device, in arrays of CuPy or PyTorch, get their answers there, whether
the CPU or the device looks them up. ctest runs this.
"""
import importlib
import os
import random

import pytest

import kcount

# How each package puts an array on a device, and gets it from there.
PACKAGES = {"cupy": (lambda cupy, array: cupy.asarray(array), lambda array: array.get()),
            "torch": (lambda torch, array: torch.asarray(array, device="cuda"),
                      lambda array: array.cpu().numpy())}
DEVICES = ["cpu", "cuda"] if "KCOUNT_CUDA_PLUGIN" in os.environ else ["cpu"]
USABLE = []
for name in PACKAGES:
    try:
        if importlib.import_module(name).cuda.is_available():
            USABLE.append(name)
    except ImportError:
        pass
if not USABLE:
    pytest.skip("no CUDA device, or neither CuPy nor PyTorch", allow_module_level=True)


@pytest.mark.parametrize("name", USABLE)
@pytest.mark.parametrize("k", [31, 33])
@pytest.mark.parametrize("device", DEVICES)
def test_answers_are_on_the_device(name, k, device):
    package, (put, get) = importlib.import_module(name), PACKAGES[name]
    sequence = "".join(random.Random(k).choices("ACGT", k=10_000))
    counts = kcount.count_sequences([sequence], k, device="cpu")
    kmers = kcount.encode([sequence[i:i + k] for i in range(5000)] + ["A" * k])
    counts.device = device
    question = put(package, kmers)
    for answer, wanted in [(counts.query_many(question), [1] * 5000 + [0]),
                           (kcount.canonical(question, k), kcount.canonical(kmers, k).tolist())]:
        assert type(answer) is type(question) and answer.device == question.device
        assert get(answer).tolist() == wanted
