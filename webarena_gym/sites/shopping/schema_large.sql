-- What only the shop of a large world has.

CREATE TABLE product_variant (  -- a configurable product's variants, one for each choice of its options
    variant_id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES product, sku TEXT NOT NULL UNIQUE,
    options TEXT NOT NULL,  -- JSON as in cart_item.options
    quantity INTEGER NOT NULL, is_in_stock INTEGER NOT NULL, UNIQUE (product_id, options)
);

CREATE TABLE search_word (word TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;  -- the words of the products' texts

CREATE VIRTUAL TABLE product_text USING fts5 (name, sku, brand, about, details, tokenize = 'porter unicode61');
CREATE TRIGGER product_text_added AFTER INSERT ON product BEGIN
    INSERT INTO product_text (rowid, name, sku, brand, about, details)
    VALUES (new.product_id, new.name, new.sku, new.brand, new.short_description, new.description);
END;
CREATE TRIGGER product_text_changed AFTER UPDATE OF name, sku, brand, short_description, description ON product BEGIN
    UPDATE product_text SET name = new.name, sku = new.sku, brand = new.brand, about = new.short_description,
        details = new.description WHERE rowid = new.product_id;
END;
CREATE TRIGGER product_text_removed AFTER DELETE ON product BEGIN
    DELETE FROM product_text WHERE rowid = old.product_id;
END;
