-- One database for the shop and its admin. Money is in cents, times are 'YYYY-MM-DD HH:MM:SS' on the world's clock.

CREATE TABLE world (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;  -- seed, now

CREATE TABLE session (session_id TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;  -- data: a JSON object

CREATE TABLE store_config (path TEXT PRIMARY KEY, label TEXT NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE admin_user (
    user_id INTEGER PRIMARY KEY AUTOINCREMENT, username TEXT NOT NULL UNIQUE, password TEXT NOT NULL,
    firstname TEXT NOT NULL, lastname TEXT NOT NULL, email TEXT NOT NULL
);

CREATE TABLE category (
    category_id INTEGER PRIMARY KEY AUTOINCREMENT, parent_id INTEGER REFERENCES category, name TEXT NOT NULL,
    url_path TEXT NOT NULL UNIQUE,  -- 'home-kitchen/cookware', served as /home-kitchen/cookware.html
    position INTEGER NOT NULL
);

CREATE TABLE product (
    product_id INTEGER PRIMARY KEY AUTOINCREMENT, sku TEXT NOT NULL UNIQUE, name TEXT NOT NULL UNIQUE, url_key TEXT NOT NULL UNIQUE,
    brand TEXT NOT NULL, category_id INTEGER NOT NULL REFERENCES category,  -- always a leaf
    price_cents INTEGER NOT NULL, special_price_cents INTEGER,  -- the sale price, when on sale
    quantity INTEGER NOT NULL, is_in_stock INTEGER NOT NULL, is_enabled INTEGER NOT NULL DEFAULT 1,
    short_description TEXT NOT NULL, description TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE INDEX product_by_category ON product (category_id);

CREATE TABLE product_attribute (  -- the 'More Information' table of a product page: Material, Capacity, ...
    product_id INTEGER NOT NULL REFERENCES product, name TEXT NOT NULL, value TEXT NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (product_id, name)
) WITHOUT ROWID;

CREATE TABLE product_option (  -- what a buyer must choose: Size, Color
    option_id INTEGER PRIMARY KEY AUTOINCREMENT, product_id INTEGER NOT NULL REFERENCES product, title TEXT NOT NULL, position INTEGER NOT NULL
);
CREATE INDEX product_option_by_product ON product_option (product_id);

CREATE TABLE product_option_value (
    value_id INTEGER PRIMARY KEY AUTOINCREMENT, option_id INTEGER NOT NULL REFERENCES product_option, label TEXT NOT NULL,
    price_delta_cents INTEGER NOT NULL DEFAULT 0, position INTEGER NOT NULL
);
CREATE INDEX product_option_value_by_option ON product_option_value (option_id);

CREATE TABLE customer (
    customer_id INTEGER PRIMARY KEY AUTOINCREMENT, email TEXT NOT NULL UNIQUE, firstname TEXT NOT NULL, lastname TEXT NOT NULL,
    password TEXT NOT NULL, group_name TEXT NOT NULL DEFAULT 'General', created_at TEXT NOT NULL
);

CREATE TABLE customer_address (
    address_id INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER NOT NULL REFERENCES customer,
    firstname TEXT NOT NULL, lastname TEXT NOT NULL, company TEXT NOT NULL DEFAULT '', street TEXT NOT NULL, city TEXT NOT NULL,
    region TEXT NOT NULL, postcode TEXT NOT NULL, country TEXT NOT NULL DEFAULT 'United States', telephone TEXT NOT NULL,
    is_default_billing INTEGER NOT NULL DEFAULT 0, is_default_shipping INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX customer_address_by_customer ON customer_address (customer_id);

CREATE TABLE newsletter_subscriber (
    email TEXT PRIMARY KEY, customer_id INTEGER REFERENCES customer, status TEXT NOT NULL,  -- Subscribed | Unsubscribed
    created_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE review (
    review_id INTEGER PRIMARY KEY AUTOINCREMENT, product_id INTEGER NOT NULL REFERENCES product, customer_id INTEGER REFERENCES customer,
    nickname TEXT NOT NULL, title TEXT NOT NULL, detail TEXT NOT NULL, rating INTEGER NOT NULL,  -- 1 to 5 stars
    status TEXT NOT NULL,  -- Approved | Pending | Not Approved
    created_at TEXT NOT NULL
);
CREATE INDEX review_by_product ON review (product_id);

CREATE TABLE cart (
    cart_id INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER UNIQUE REFERENCES customer,  -- NULL: a guest's, found by the session
    coupon_code TEXT
);

CREATE TABLE cart_item (
    item_id INTEGER PRIMARY KEY AUTOINCREMENT, cart_id INTEGER NOT NULL REFERENCES cart, product_id INTEGER NOT NULL REFERENCES product,
    options TEXT NOT NULL DEFAULT '{}',  -- JSON: option title -> value label, in the product's order
    quantity INTEGER NOT NULL
);
CREATE INDEX cart_item_by_cart ON cart_item (cart_id);

CREATE TABLE wishlist_item (
    item_id INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER NOT NULL REFERENCES customer, product_id INTEGER NOT NULL REFERENCES product,
    quantity INTEGER NOT NULL DEFAULT 1, comment TEXT NOT NULL DEFAULT '', added_at TEXT NOT NULL, UNIQUE (customer_id, product_id)
);

CREATE TABLE compare_item (
    item_id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES session, product_id INTEGER NOT NULL REFERENCES product,
    UNIQUE (session_id, product_id)
);

CREATE TABLE sales_order (
    order_id INTEGER PRIMARY KEY AUTOINCREMENT, increment_id TEXT NOT NULL UNIQUE,  -- the number people see: 000000137
    customer_id INTEGER REFERENCES customer, customer_email TEXT NOT NULL, customer_name TEXT NOT NULL,
    status TEXT NOT NULL,  -- pending | processing | complete | canceled | closed | holded
    created_at TEXT NOT NULL,
    subtotal_cents INTEGER NOT NULL, discount_cents INTEGER NOT NULL DEFAULT 0, coupon_code TEXT, shipping_cents INTEGER NOT NULL,
    grand_total_cents INTEGER NOT NULL,  -- subtotal - discount + shipping
    shipping_method TEXT NOT NULL, payment_method TEXT NOT NULL
);
CREATE INDEX sales_order_by_customer ON sales_order (customer_id);
CREATE INDEX sales_order_by_time ON sales_order (created_at);

CREATE TABLE order_address (
    order_id INTEGER NOT NULL REFERENCES sales_order, kind TEXT NOT NULL,  -- billing | shipping
    firstname TEXT NOT NULL, lastname TEXT NOT NULL, company TEXT NOT NULL DEFAULT '', street TEXT NOT NULL, city TEXT NOT NULL,
    region TEXT NOT NULL, postcode TEXT NOT NULL, country TEXT NOT NULL, telephone TEXT NOT NULL,
    PRIMARY KEY (order_id, kind)
) WITHOUT ROWID;

CREATE TABLE order_item (
    item_id INTEGER PRIMARY KEY AUTOINCREMENT, order_id INTEGER NOT NULL REFERENCES sales_order, product_id INTEGER NOT NULL REFERENCES product,
    sku TEXT NOT NULL, name TEXT NOT NULL, options TEXT NOT NULL DEFAULT '{}', price_cents INTEGER NOT NULL,  -- of one
    qty_ordered INTEGER NOT NULL, qty_invoiced INTEGER NOT NULL DEFAULT 0, qty_shipped INTEGER NOT NULL DEFAULT 0,
    qty_refunded INTEGER NOT NULL DEFAULT 0, qty_canceled INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX order_item_by_order ON order_item (order_id);
CREATE INDEX order_item_by_product ON order_item (product_id, qty_ordered);  -- what sells best needs no row

CREATE TABLE order_comment (
    comment_id INTEGER PRIMARY KEY AUTOINCREMENT, order_id INTEGER NOT NULL REFERENCES sales_order, status TEXT NOT NULL, comment TEXT NOT NULL,
    is_customer_notified INTEGER NOT NULL DEFAULT 0, is_visible_on_front INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL
);
CREATE INDEX order_comment_by_order ON order_comment (order_id);

CREATE TABLE invoice (
    invoice_id INTEGER PRIMARY KEY AUTOINCREMENT, increment_id TEXT NOT NULL UNIQUE, order_id INTEGER NOT NULL REFERENCES sales_order,
    grand_total_cents INTEGER NOT NULL, created_at TEXT NOT NULL
);
CREATE INDEX invoice_by_order ON invoice (order_id);

CREATE TABLE shipment (
    shipment_id INTEGER PRIMARY KEY AUTOINCREMENT, increment_id TEXT NOT NULL UNIQUE, order_id INTEGER NOT NULL REFERENCES sales_order,
    created_at TEXT NOT NULL
);
CREATE INDEX shipment_by_order ON shipment (order_id);

CREATE TABLE shipment_track (
    track_id INTEGER PRIMARY KEY AUTOINCREMENT, shipment_id INTEGER NOT NULL REFERENCES shipment,
    carrier TEXT NOT NULL,  -- Custom Value | DHL | Federal Express | United Parcel Service | United States Postal Service
    title TEXT NOT NULL, number TEXT NOT NULL
);
CREATE INDEX shipment_track_by_shipment ON shipment_track (shipment_id);

CREATE TABLE creditmemo (  -- a refund
    creditmemo_id INTEGER PRIMARY KEY AUTOINCREMENT, increment_id TEXT NOT NULL UNIQUE, order_id INTEGER NOT NULL REFERENCES sales_order,
    refund_shipping_cents INTEGER NOT NULL, adjustment_cents INTEGER NOT NULL DEFAULT 0, grand_total_cents INTEGER NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX creditmemo_by_order ON creditmemo (order_id);

CREATE TABLE cart_rule (  -- Marketing > Cart Price Rules; a rule with a coupon_code applies when the code is entered
    rule_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, description TEXT NOT NULL DEFAULT '', coupon_code TEXT UNIQUE,
    action TEXT NOT NULL,  -- by_percent (amount is percent) | cart_fixed (amount is cents off the whole cart)
    amount INTEGER NOT NULL, is_active INTEGER NOT NULL, from_date TEXT, to_date TEXT, times_used INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE search_term (
    query_id INTEGER PRIMARY KEY AUTOINCREMENT, query_text TEXT NOT NULL UNIQUE, num_results INTEGER NOT NULL, uses INTEGER NOT NULL,
    updated_at TEXT NOT NULL
);

CREATE TABLE cms_page (
    page_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, url_key TEXT NOT NULL UNIQUE, content_heading TEXT NOT NULL,
    content TEXT NOT NULL, is_enabled INTEGER NOT NULL DEFAULT 1, updated_at TEXT NOT NULL
);

CREATE TABLE theme (theme_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, parent TEXT NOT NULL DEFAULT '', path TEXT NOT NULL, is_applied INTEGER NOT NULL DEFAULT 0);

CREATE TABLE contact_message (
    message_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT NOT NULL, telephone TEXT NOT NULL, comment TEXT NOT NULL,
    created_at TEXT NOT NULL
);

-- What visits leave behind, and what only follows from other changes (see ../changes.py).
-- incidental: session
-- incidental: *.*_at
-- incidental: +search_term  -- what was searched for
-- incidental: search_term.num_results
-- incidental: search_term.uses
-- incidental: +cart WHERE coupon_code IS NULL  -- its items are what counts
-- incidental: cart_rule.times_used
-- incidental: +newsletter_subscriber WHERE status = 'Unsubscribed'  -- subscribed and taken back
