"""Labels and milestones alike: the parts of a project's plan that have forms of their own, each with a name and an address."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from webarena_gym.sites.gitlab.base import find_project, members_only, require_role, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import complaints, read
from webarena_gym.sites.kit.requests import Request, Response, redirect

Values = dict[str, str]


@dataclass(frozen=True)
class Part:
    """One kind of parts. `noun` is its table, and in the plural its part of the URL.

    `key` is the column by which an address names one: the table's own id, or `iid`, which counts in each project. `check` adds
    what is wrong with what was posted to the errors, and may rewrite it as it is stored. `forget` are the statements that take one off
    everything, before it is deleted.
    """

    noun: str
    key: str
    named_by: str
    fields: Mapping[str, Field]
    blank: Mapping[str, str]
    nullable: frozenset[str]
    check: Callable[[Values, list[str]], None]
    taken: str
    forget: Sequence[str]
    has_page: bool  # to which its forms lead; else they lead to the list

    def find(self, request: Request, project: sqlite3.Row, number: int) -> sqlite3.Row:
        """Return one of a project. Raises NotFound."""
        query = f"SELECT * FROM {self.noun} WHERE project_id = ? AND {self.key} = ?"
        return one(request.db, query, (project["project_id"], number))

    def register(self) -> None:
        """Register the views that create, change and delete one, for reporters of the project."""
        place = f"/<namespace>/<path>/-/{self.noun}s"
        for decorate, rule, view in (
            (site.get, f"{place}/new", self._new),
            (site.post, place, self._create),
            (site.get, f"{place}/<int:number>/edit", self._edit),
            (site.post, f"{place}/<int:number>/edit", self._save),
            (site.post, f"{place}/<int:number>/delete", self._delete),
        ):
            decorate(rule)(members_only(view))

    def _new(self, request: Request, _: sqlite3.Row, namespace: str, path: str) -> str:
        """Show the form for a new one."""
        return self._form(request, planned_project(request, namespace, path), self.blank)

    def _create(self, request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
        """Store a new one."""
        project = planned_project(request, namespace, path)
        values, errors = self._read(request, project)
        if errors:
            return self._form(request, project, values, errors)
        row = {"project_id": project["project_id"], **self._stored(values)}
        if self.key == "iid":
            query = f"""
                SELECT max(last_{self.noun}, coalesce((SELECT max(iid) FROM {self.noun} WHERE project_id = :id), 0)) + 1
                FROM project WHERE project_id = :id
            """
            (row["iid"],) = request.db.execute(query, {"id": project["project_id"]}).fetchone()
        request.db.execute(f"INSERT INTO {self.noun} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", (*row.values(),))
        return self._done(request, project, row, "created")

    def _edit(self, request: Request, _: sqlite3.Row, namespace: str, path: str, number: int) -> str:
        """Show the form of one."""
        project = planned_project(request, namespace, path)
        row = self.find(request, project, number)
        return self._form(request, project, {name: value or "" for name, value in dict(row).items()})

    def _save(self, request: Request, _: sqlite3.Row, namespace: str, path: str, number: int) -> str | Response:
        """Change one."""
        project = planned_project(request, namespace, path)
        own = self.find(request, project, number)[f"{self.noun}_id"]
        values, errors = self._read(request, project, own)
        if errors:
            return self._form(request, project, {**values, self.key: number}, errors)
        row = self._stored(values)
        columns = ", ".join(f"{column} = ?" for column in row)
        request.db.execute(f"UPDATE {self.noun} SET {columns} WHERE {self.noun}_id = ?", (*row.values(), own))
        return self._done(request, project, {**row, self.key: number}, "saved")

    def _delete(self, request: Request, _: sqlite3.Row, namespace: str, path: str, number: int) -> Response:
        """Delete one, and take it off everything."""
        project = planned_project(request, namespace, path)
        row = self.find(request, project, number)
        if self.key == "iid":
            query = f"UPDATE project SET last_{self.noun} = max(last_{self.noun}, ?) WHERE project_id = ?"
            request.db.execute(query, (number, project["project_id"]))
        for statement in (*self.forget, f"DELETE FROM {self.noun} WHERE {self.noun}_id = ?"):
            request.db.execute(statement, (row[f"{self.noun}_id"],))
        return request.redirect(f"/{project['full_path']}/-/{self.noun}s", f"The {self.noun} {row[self.named_by]} was deleted.")

    def _read(self, request: Request, project: sqlite3.Row, own: int = 0) -> tuple[Values, list[str]]:
        """Return what was posted, and what is wrong with it; `own` is the id of the one that is changed."""
        values = read(request, self.fields)
        values[self.named_by] = " ".join(values[self.named_by].split())
        errors = complaints(values, self.fields)
        self.check(values, errors)
        query = f"SELECT 1 FROM {self.noun} WHERE project_id = ? AND {self.named_by} = ? AND {self.noun}_id <> ?"
        if request.db.execute(query, (project["project_id"], values[self.named_by], own)).fetchone():
            errors.append(self.taken)
        return values, errors

    def _stored(self, values: Values) -> dict[str, object]:
        return {name: None if name in self.nullable and not value else value for name, value in values.items()}

    def _form(self, request: Request, project: sqlite3.Row, values: Mapping[str, object], errors: Sequence[str] = ()) -> str:
        return request.render(f"{self.noun}_form.html", project=project, values={self.key: "", **values}, errors=errors)

    def _done(self, request: Request, project: sqlite3.Row, row: Mapping[str, object], done: str) -> Response:
        place = f"/{project['full_path']}/-/{self.noun}s"
        if self.has_page:
            return redirect(f"{place}/{row[self.key]}")
        return request.redirect(place, f"The {self.noun} {row[self.named_by]} was {done}.")


def planned_project(request: Request, namespace: str, path: str) -> sqlite3.Row:
    """Return the project of a URL, in which the visitor must be a reporter. Raises NotFound or Forbidden."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Reporter")
    return project
