"""Templates of the shipped suite and their numbers of tasks, in the public benchmark's proportions.

WebArena-Lite has 165 test tasks, one for each template, and 647 training tasks whose templates overlap with the test's in 143
cases. This suite has as many by site, by kind of check (tests/test_tasks.py) and in the overlap. The slots, and the worlds they
are drawn from, always differ between the two splits.
"""

from collections.abc import Mapping
from typing import NamedTuple

LEFT_OUT: Mapping[str, str] = {
    "reddit.mention_of_nothing": '"N/A; no, NAME" is taken for N/A, although it names somebody',
}
"""Standard templates that are in no split, each with what its audit found."""


class Part(NamedTuple):
    """The templates of one site, or of several sites together."""

    both: tuple[str, ...]
    test_only: tuple[str, ...]
    train_only: tuple[str, ...]
    train_tasks: int

    def names(self, split: str) -> tuple[str, ...]:
        """Return the templates of a split; validation has those of training."""
        return self.both + (self.test_only if split == "test" else self.train_only)

    def total(self, split: str) -> int:
        """Return how many tasks they give together."""
        return self.train_tasks if split == "train" else len(self.names(split))


def _part(site: str, train_tasks: int, both: str, test_only: str = "", train_only: str = "") -> Part:
    def names(text: str) -> tuple[str, ...]:
        return tuple(f"{site}.{name}" for name in text.split())

    return Part(names(both), names(test_only), names(train_only), train_tasks)


PARTS: Mapping[str, Part] = {
    "shopping": _part(
        "shopping",
        142,
        both="""
            product_price product_stock product_options cheaper_of_two missing_product brand_phone brand_prices
            brand_count review_count review_author own_stars order_total order_payment missing_order account_place
            category_place search_place product_place order_place reviews_place sorted_place price_filter_place
            brand_filter_place extreme_place most_reviewed_place cart_add_affordable cart_add_sold_out coupon_apply
            checkout wish_list_add compare_two newsletter_subscribe address_change address_add review_write
        """,
        test_only="""
            return_window order_content order_quantity order_tracking orders_sum latest_total month_count
            month_spending cart_add cart_add_option
        """,
        train_only="""
            product_sku order_status last_ordered
        """,
    ),
    "shopping_admin": _part(
        "shopping_admin",
        147,
        both="""
            order_status order_customer order_missing invoice_missing order_tracking payment_difference
            orders_of_month_in_status accounts_of_month bestseller_of_month rule_of_coupon product_missing name_of_sku
            latest_rating customer_email customer_missing customer_sales list_page invoice_page cancel_order
            ship_order refund_order out_of_stock variants_out_of_stock disable_and_list add_product approve_review
            delete_reviews_of create_rule change_discount move_customer hold_and_list change_group_and_list
        """,
        test_only="""
            latest_pieces top_terms reviews_counted
        """,
        train_only="""
            order_total sales_of_month reviews_of_month orders_in_status order_address delete_review
        """,
    ),
    "reddit": _part(
        "reddit",
        87,
        both="""
            ask_in_forum_on_topic ask_where_answered book_review repost_image discussion recommendation_in_forum
            meetup tool_for_field comment_here open_and_subscribe vote_newest vote_best like_all dislike_all biography
            add_line create_forum unpopular_comments mention
        """,
        train_only="""
            ask_in_town add_moderator
        """,
    ),
    "gitlab": _part(
        "gitlab",
        150,
        both="""
            list_place project_empty project_with_members project_from_template clone_command star_top commits_on_day
            commits_of_two top_contributor top_contributors folder_new website_title license_change access_list
            invite_one invite_two labelled_issues_place updated_issue_state created_issue_state issue_create
            issue_assign request_comment people_follow todos_place status_set
        """,
        test_only="""
            sorted_place contributed_most_starred own_requests_place review_reply feed_token
        """,
        train_only="""
            project_place star_one branch_new commit_place role_change group_place author_issues_place own_issue_count
            issue_milestone request_merger job_of
        """,
    ),
    "map": _part(
        "map",
        83,
        both="""
            place_address place_postcode place_coordinates place_phone place_hours town_population count_in_town
            drive_time walk_time walk_or_drive every_way within_reach walk_then_drive nearest_name nearest_walk
            nearest_time all_within_walk none_within_walk arrival around_the_hotel place_page kind_around save_place
        """,
        test_only="""
            state_borders best_order town_drive
        """,
        train_only="""
            place_website longest_street walk_to_nearest
        """,
    ),
    "several": _part(
        "several",
        38,
        both="""
            drive_to_best_university nearest_park stadium_route films_of_time_readme winners_readme films_readme
            urls_of_missing_forum promote_project share_repository
        """,
        test_only="""
            newest_urls
        """,
        train_only="""
            college_drive
        """,
    ),
}
"""The parts of the suite by site; "several" holds the tasks over two or three sites."""
