"""Image sets made from what other packages ship: digits, letters, faces and photographs."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import gaussian_filter
from structure_files import wheel

from walkconv import datasets

TEXTURED = ("brick.png", "camera.png", "coins.png", "grass.png", "moon.png")
COLOURED = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png")


def digits(first: int, n_rows: int) -> np.ndarray:
    """Return some training digits of MNIST (n_rows, 28, 28) in random order."""
    images = datasets.load_mnist().X_train.reshape(-1, 28, 28)
    return images[np.random.default_rng(3).permutation(len(images))[first : first + n_rows]]


def small_digits() -> np.ndarray:
    """Return 7,000 digits (n_rows, 16, 16) that fill their pictures."""
    pictures = (Image.fromarray(image).crop((4, 4, 24, 24)) for image in digits(0, 7000))
    return np.stack(
        [np.asarray(each.resize((16, 16), Image.Resampling.BILINEAR)) for each in pictures]
    )


def mirrored_digits(n_rows: int, light: float, texture: float, width: float) -> np.ndarray:
    """Return digits (n_rows, 28, 28) made symmetric, with a texture that is not."""
    rng = np.random.default_rng(5)
    images = digits(10_000, n_rows).astype(np.float32) / 255
    shapes = np.maximum(images, images[:, :, ::-1])
    shapes = np.clip(gaussian_filter(shapes, (0, 1.2, 1.2)) * 1.6, 0, 1)
    shifts = rng.integers(-1, 2, size=(n_rows, 2))
    shapes = np.stack([np.roll(a, tuple(b), (0, 1)) for a, b in zip(shapes, shifts, strict=True)])
    noise = gaussian_filter(rng.normal(size=shapes.shape).astype(np.float32), (0, width, width))
    return np.rint(np.clip(shapes * (light + texture * noise / noise.std()), 0, 1) * 255)


def letters(n_rows: int = 5000) -> np.ndarray:
    """Return letters (n_rows, 20, 20) in the fonts of matplotlib, turned and slanted a little."""
    import matplotlib as mpl

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    begins = ("DejaVu", "STIXGeneral", "cmr", "cmss", "cmtt")
    fonts = [
        path
        for path in sorted(folder.glob("*.ttf"))
        if path.name.startswith(begins) and "Display" not in path.name
    ]
    rng = np.random.default_rng(7)
    images = []
    for _ in range(n_rows):
        font = ImageFont.truetype(str(fonts[rng.integers(len(fonts))]), int(rng.integers(26, 40)))
        letter = chr((65 if rng.random() < 0.5 else 97) + rng.integers(26))
        image = Image.new("L", (64, 64))
        ImageDraw.Draw(image).text((32, 32), letter, font=font, fill=255, anchor="mm")
        image = image.rotate(rng.normal() * 8, Image.Resampling.BILINEAR)
        slant = (1, rng.normal() * 0.15, 0, 0, 1, 0)
        image = image.transform((64, 64), Image.Transform.AFFINE, slant, Image.Resampling.BILINEAR)
        left, top, right, bottom = image.getbbox() or (16, 16, 48, 48)
        x, y = (left + right) / 2 + rng.normal(), (top + bottom) / 2 + rng.normal()
        cut = image.crop((int(x - 20), int(y - 20), int(x + 20), int(y + 20)))
        images.append(np.asarray(cut.resize((20, 20), Image.Resampling.BOX)))
    return np.stack(images)


def faces() -> np.ndarray:
    """Return a hundred faces (100, 25, 25) from the wheel of scikit-image."""
    return np.load(_pictures() / "lfw_subset.npy")[:100]


def patches(names: tuple[str, ...], side: int, n_rows: int, seed: int) -> np.ndarray:
    """Return patches (n_rows, side, side, 3) of photographs from the wheel of scikit-image."""
    rng = np.random.default_rng(seed)
    photos = [np.asarray(Image.open(_pictures() / name).convert("RGB")) for name in names]
    cut = []
    for number in range(n_rows):
        photo = photos[number % len(photos)]
        y, x = rng.integers(0, photo.shape[0] - side), rng.integers(0, photo.shape[1] - side)
        cut.append(photo[y : y + side, x : x + side])
    return np.stack(cut).astype(np.float32)


def _pictures() -> Path:
    return wheel("scikit-image", "0.26.0") / "skimage" / "data"
