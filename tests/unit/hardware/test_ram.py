"""Main memory as this process may use it."""

import os

import psutil

from homeai.hardware.ram import probe, rss_bytes

MIB = 2**20


def test_without_a_memory_group_the_machine_counts(tmp_path):
    ram = probe(tmp_path)

    assert ram.total_bytes == psutil.virtual_memory().total
    assert 0 < ram.available_bytes <= ram.total_bytes


def test_a_memory_groups_limit_counts_and_its_cache_is_free(tmp_path):
    (tmp_path / "memory.max").write_text(f"{512 * MIB}\n")
    (tmp_path / "memory.current").write_text(f"{300 * MIB}\n")
    (tmp_path / "memory.stat").write_text(f"anon 1\ninactive_file {100 * MIB}\n")

    ram = probe(tmp_path)

    assert ram.total_bytes == 512 * MIB
    assert ram.available_bytes == 312 * MIB


def test_an_unlimited_group_is_no_limit(tmp_path):
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1\n")

    assert probe(tmp_path).total_bytes == psutil.virtual_memory().total


def test_a_process_that_is_gone_has_no_size():
    assert rss_bytes(os.getpid()) > MIB
    assert rss_bytes(2**22 + 1) is None
