"""A forum: communities with submissions, comments, votes, subscriptions, moderators and private messages."""
