"""Builds the native library; everything else about the package stands in pyproject.toml."""

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

NATIVE = Path("src/walkconv/_native")


class BuildExtension(build_ext):
    """Builds libraries that ctypes loads, with the flags of the compiler at hand."""

    def build_extensions(self) -> None:
        """Choose the flags, then build."""
        for extension in self.extensions:
            if self.compiler.compiler_type == "msvc":
                # The vectors of the kernel are an extension of C that only GCC and clang have:
                # MSVC refuses them, so nothing is installed, and torch does the work.
                extension.extra_compile_args = ["/O2", "/std:c11"]
            else:
                flags = ["-std=gnu11", "-fvisibility=hidden"]
                if "-O" not in os.environ.get("CFLAGS", ""):  # `make sanitize` has its own
                    # Without -g0 Python's own flags add debugging symbols.
                    flags += ["-O3", "-g0"]
                extension.extra_compile_args = flags
                if os.name == "posix":
                    extension.extra_compile_args.append("-pthread")
                    extension.extra_link_args = ["-pthread"]
        super().build_extensions()

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """Return nothing: no extension is a module of Python, so there is no function to start."""
        return []


class PlatformWheel(bdist_wheel):
    """A wheel for any Python 3: nothing compiled depends on Python's headers."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tags for Python, its binary interface and the platform."""
        return "py3", "none", super().get_tag()[2]


setup(
    cmdclass={"build_ext": BuildExtension, "bdist_wheel": PlatformWheel},
    ext_modules=[
        Extension(
            "walkconv._native._library",
            sources=[str(source) for source in sorted(NATIVE.glob("*/*.c"))],
            depends=[str(header) for header in sorted(NATIVE.glob("*/*.h"))],
            libraries=[] if os.name == "nt" else ["m"],
            # Without a compiler the package installs all the same; numpy and torch do the work.
            optional=True,
        )
    ],
)
