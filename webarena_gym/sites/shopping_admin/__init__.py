"""The shop's admin: orders, catalogue, customers, marketing, content, reports and settings, on the shop's own database."""
