"""Fills the database of the example."""

from datetime import UTC, datetime, timedelta

from django.contrib.auth import get_user_model
from django.core.management import call_command
from spirit.category.models import Category
from spirit.comment.models import Comment
from spirit.topic.models import Topic

TOPICS = (
    ("Boats", "bob", "A mast for a dinghy", (("bob", "Which wood would you take?"), ("carl", "Spruce."), ("bob", "Thanks!"))),
    ("Boats", "ann", "Varnish", (("ann", "The old tin is empty."),)),
    ("Harbour", "carl", "Winter berths", (("carl", "How many berths are left?"),)),
    ("Harbour", "ann", "Lighthouse visit", (("ann", "On Sunday at ten."), ("bob", "I will come."))),
    ("Harbour", "bob", "Buy cheap watches", (("bob", "Cheap watches here."),)),
    ("Boats", "carl", "Anchors", (("carl", "Mine drags over the sand."), ("ann", "Take a heavier chain."))),
)

User = get_user_model()
ann = User.objects.create_superuser("ann", "ann@forum.test", "correct horse")
ann.st.is_administrator = ann.st.is_moderator = True
ann.st.save()
people = {"ann": ann} | {
    name: User.objects.create_user(name, f"{name}@forum.test", "correct horse") for name in ("bob", "carl")
}
now = datetime(2024, 3, 1, 9, tzinfo=UTC)
User.objects.update(date_joined=now, last_login=None)
for title, color in (("Boats", "#1aafd0"), ("Harbour", "#6a67ce")):
    Category.objects.create(title=title, color=color)
Category.objects.update(reindex_at=now)
for category, starter, title, comments in TOPICS:
    now += timedelta(hours=5)
    topic = Topic.objects.create(
        user=people[starter], category=Category.objects.get(title=category), title=title, date=now, comment_count=len(comments),
        last_active=now + timedelta(hours=len(comments)), reindex_at=now,
    )  # fmt: skip
    for number, (name, text) in enumerate(comments):
        when = now + timedelta(hours=number)
        Comment.objects.create(user=people[name], topic=topic, comment=text, comment_html=f"<p>{text}</p>", date=when)
call_command("rebuild_index", interactive=False, verbosity=0)
