"""Generated memories of steps."""

from agents.data.workflows import WorkflowStep
from agents.models.pointer.memory import Situation, StepMemory, stored_step

WORDS = ("Star", "the", "project", "open", "latest", "order", "of", "Kim", "Wooden", "Lamp", "12")
DEEDS = [WorkflowStep(kind, label) for kind in ("Click", "Type") for label in ("Star", "Orders", "<name>", "Save")]


def drawn_situation(rng):
    goal = " ".join(rng.choice(WORDS) for _ in range(rng.randint(2, 6)))
    site, path = rng.choice(("shop", "code")), rng.choice(("", "orders", "orders/7", "a/b"))
    page = f"URL: http://{site}.test/{path}\nTitle: {rng.choice(WORDS)}\n<h1>{rng.choice(WORDS)}</h1>"
    return Situation(goal, page, rng.choice([WorkflowStep(""), *DEEDS]))


def drawn_memory(rng, count=60, nearest=5):
    return StepMemory([stored_step(drawn_situation(rng), rng.choice(DEEDS)) for _ in range(count)], nearest)
