-- What only the shop of a large world has.

CREATE TABLE product_variant (  -- a configurable product's variants, one for each choice of its options
    variant_id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES product, sku TEXT NOT NULL UNIQUE,
    options TEXT NOT NULL,  -- JSON as in cart_item.options
    quantity INTEGER NOT NULL, is_in_stock INTEGER NOT NULL, UNIQUE (product_id, options)
);
