-- What only the shop of a large world has.

CREATE TABLE product_variant (  -- a configurable product's variants, one for each choice of its options
    variant_id INTEGER PRIMARY KEY AUTOINCREMENT, product_id INTEGER NOT NULL REFERENCES product, sku TEXT NOT NULL UNIQUE,
    options TEXT NOT NULL,  -- JSON as in cart_item.options
    quantity INTEGER NOT NULL, is_in_stock INTEGER NOT NULL, UNIQUE (product_id, options)
);

CREATE TABLE review_fact (  -- what a review says as a whole; what is not said is ''
    review_id INTEGER PRIMARY KEY AUTOINCREMENT, is_first_hand INTEGER NOT NULL,
    user TEXT NOT NULL,  -- who uses the product, where it is not the writer
    use TEXT NOT NULL, used_for TEXT NOT NULL,  -- "3 week"
    outcome TEXT NOT NULL,  -- kept | returned | exchanged | given away
    because TEXT NOT NULL,  -- the aspect that is the reason for the outcome
    edited_after TEXT NOT NULL, is_verified INTEGER NOT NULL,
    register TEXT NOT NULL,  -- formal | plain | chatty | careless
    length TEXT NOT NULL  -- line | short | medium | long
);

CREATE TABLE review_opinion (  -- what a review says of one aspect of its product
    review_id INTEGER NOT NULL, aspect TEXT NOT NULL,
    name TEXT NOT NULL,  -- of the aspect, as people call it
    verdict INTEGER,  -- 1 good, 0 bad: the writer's own final opinion; NULL: none
    is_good INTEGER NOT NULL,  -- what is said, by whom it may be
    strength TEXT NOT NULL,  -- mild | plain | strong
    voice TEXT NOT NULL,  -- own | ironic | quoted | heard
    who TEXT NOT NULL, agrees INTEGER NOT NULL, compared_with TEXT NOT NULL, is_retracted INTEGER NOT NULL,
    PRIMARY KEY (review_id, aspect)
) WITHOUT ROWID;

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
