"""Builds the native kernel; everything else about the package stands in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

KERNEL = Path("src/walkconv/conv/kernel")

setup(
    ext_modules=[
        Extension(
            "walkconv.conv.kernel._kernel",
            sources=[str(KERNEL / "kernel.c")],
            depends=[str(header) for header in sorted(KERNEL.glob("*.h"))],
            extra_compile_args=["-O3", "-std=gnu11", "-fvisibility=hidden", "-pthread"],
            extra_link_args=["-pthread"],
            # Without a compiler the package installs all the same, and torch does the work.
            optional=True,
        )
    ]
)
