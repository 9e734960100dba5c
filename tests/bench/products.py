"""What benches take from a page of the catalogue: ten records of five fields, as the peer takes them."""

from typing import Any

PRODUCTS: dict[str, Any] = {
    "type": "product",
    "each": "article.product",
    "key": ["sku"],
    "fields": {
        "sku": {"css": "&", "attr": "data-sku", "required": True},
        "title": {"css": ".title", "required": True},
        "price": {"css": ".price", "type": "decimal"},
        "stock": {"css": ".stock"},
        "about": {"css": ".about"},
    },
}
