"""Reports of the admin against the rows of the database."""

import pytest

from webarena_gym.sites.country.texts import money


def test_sales_reports_by_month_and_of_one_status(person):
    person.open("/admin/reports/report_sales/sales/").choose("Period", "Month").type(From="01/01/2022", To="03/31/2022")
    person.click("Show Report")
    rows = person.sql(
        """SELECT strftime('%m', created_at) + 0, count(*), sum(grand_total_cents), sum(discount_cents)
           FROM sales_order WHERE status != 'canceled' AND date(created_at) BETWEEN '2022-01-01' AND '2022-03-31' GROUP BY 1"""
    )
    shown = [(row[0], row[1], row[3], row[7]) for row in person.table]
    assert shown == [(f"{month}/2022", str(count), money(total), money(discount)) for month, count, total, discount in rows]
    totals = person.root.xpath("//tfoot//td/text()")
    assert totals[:2] == ["Total", str(sum(row[1] for row in rows))]
    assert money(sum(row[2] for row in rows)) in totals
    person.open("/admin/reports/report_sales/sales/?period_type=year&from=&to=&status=canceled")
    canceled = "SELECT strftime('%Y', created_at) + 0, count(*) FROM sales_order WHERE status = 'canceled' GROUP BY 1"
    person.holds([(int(row[0]), int(row[1])) for row in person.table], canceled)


def test_bestsellers_and_customers(person):
    person.open("/admin/reports/report_sales/bestsellers/?period_type=year&from=01/01/2022&to=12/31/2022")
    assert [(row[1], int(row[3])) for row in person.table] == person.sql(
        """SELECT name, sum(qty_ordered) AS sold FROM order_item JOIN sales_order USING (order_id)
           WHERE created_at LIKE '2022%' AND status != 'canceled' GROUP BY product_id ORDER BY sold DESC, product_id LIMIT 5"""
    )
    person.open("/admin/reports/report_customer/totals/?period_type=year&from=01/01/2022&to=12/31/2022")
    assert [(row[1], row[4]) for row in person.table] == [
        (name, money(total))
        for name, total in person.sql(
            """SELECT customer_name, sum(grand_total_cents) AS total FROM sales_order
               WHERE created_at LIKE '2022%' AND status != 'canceled' GROUP BY customer_email ORDER BY total DESC"""
        )
    ]


@pytest.mark.parametrize("kind, table", [("invoiced", "invoice"), ("refunded", "creditmemo")])
def test_money_reports(person, kind, table):
    person.open(f"/admin/reports/report_sales/{kind}/?period_type=day&from=2022-02-01&to=2022-12-31")
    assert [row[1:] for row in person.table] == [
        [str(count), money(total)]
        for _, count, total in person.sql(
            f"""SELECT date(d.created_at), count(DISTINCT order_id), sum(d.grand_total_cents) FROM {table} d JOIN sales_order o
                USING (order_id) WHERE date(d.created_at) BETWEEN '2022-02-01' AND '2022-12-31' AND status != 'canceled' GROUP BY 1"""
        )
    ]


def test_other_reports(person):
    person.open("/admin/reports/report_sales/coupons/?period_type=year&from=&to=")
    count = person.value("SELECT count(*) FROM sales_order WHERE coupon_code = 'TEN' AND status != 'canceled'")
    assert sum(int(row[3]) for row in person.table) == count
    person.open("/admin/reports/report_product/lowstock/")
    assert [row[1] for row in person.table] == ["AC-001", "AC-002"]
    person.open("/admin/reports/report_review/product/")
    person.holds([int(row[2]) for row in person.table], "SELECT count(*) AS n FROM review GROUP BY product_id ORDER BY n DESC")
    name = person.table[0][1]
    person.click("Show Reviews")
    assert {row[8] for row in person.table} == {name}
    assert {row[7] for row in person.table} <= {"1 star", "2 stars", "3 stars", "4 stars", "5 stars"}
    person.open("/admin/reports/report_sales/sales/?period_type=week&from=soon")
    assert len(person.messages) == 2
    person.open("/admin/reports/report_sales/sales/?period_type=day&from=01/01/1999&to=01/02/1999")
    assert "couldn't find any records" in person.text
