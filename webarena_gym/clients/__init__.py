"""Clients of JSON APIs over HTTP: requests with retries, and chat models."""
