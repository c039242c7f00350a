"""A summary becomes pictures: SVG as markup. Nothing here sees a model."""
