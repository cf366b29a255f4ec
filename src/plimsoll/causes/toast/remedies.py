"""
List the remedies for updates that send unchanged values: exact code for each stack.

Measured on PostgreSQL 15 and 18: `CASE`, `coalesce(nullif())`, the guarded upsert and the trigger keep the
stored value in place; `suppress_redundant_updates_trigger` does not. `plimsoll prove toast` measures it on
any server.
"""

from plimsoll.model.cause import Remedy

UNKNOWN_COLUMN = "the_column"
"""Placeholder in the code if the column is unknown; the report says that it is unknown."""

# `remedies_of` replaces `<table>`, `<column>` and `<name>`; the rest is ready to run.
_UPSERT = """
INSERT INTO <table> AS old (id, <column>) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET <column> = EXCLUDED.<column>
WHERE old.<column> IS DISTINCT FROM EXCLUDED.<column>;
"""
_COALESCE = """
UPDATE <table> SET status = $1, <column> = coalesce(nullif($2, <column>), <column>)
WHERE id = $3;  -- where the column is never set to null
"""
_CASE = """
UPDATE <table> SET status = $1,
  <column> = CASE WHEN <column> IS DISTINCT FROM $2 THEN $2 ELSE <column> END
WHERE id = $3;
"""
_PARTIAL_UPDATES = """
# config/application.rb
config.active_record.partial_updates = true   # Rails 7; partial_writes before
"""
_CHANGED = """
record.changed    # before save: must not name <column>
record.update_columns(status: status)
"""
_UPSERT_ALL = """
Model.upsert_all(rows, unique_by: :id, on_duplicate: Arel.sql(
  "<column> = EXCLUDED.<column> " \\
  "WHERE <table>.<column> IS DISTINCT FROM EXCLUDED.<column>"))
"""
_DYNAMIC_UPDATE = """
@Entity
@org.hibernate.annotations.DynamicUpdate
public class Document {
    @Column(name = "<column>")
    private String <column>;
}
"""
_ACTIVE_HISTORY = """
<column>: Mapped[str] = mapped_column(Text, active_history=True)
"""
_ON_CONFLICT = """
stmt = insert(documents).values(rows)
stmt = stmt.on_conflict_do_update(
    index_elements=[documents.c.id],
    set_={"<column>": stmt.excluded.<column>},
    where=documents.c.<column>.is_distinct_from(stmt.excluded.<column>),
)
"""
_UPDATE_FIELDS = """
document.save(update_fields=["status"])
"""
_BULK_UPDATE = """
Document.objects.bulk_update(documents, fields=["status"])
"""
_DEFER = """
document = Document.objects.defer("<column>").get(pk=pk)  # save() then leaves it out
"""
_TRIGGER = """
CREATE FUNCTION <name>() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.<column> IS NOT DISTINCT FROM OLD.<column> THEN
    NEW.<column> := OLD.<column>;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER <name> BEFORE UPDATE OF <column> ON <table>
  FOR EACH ROW EXECUTE FUNCTION <name>();
"""

_STACKS = (
    (
        (
            "SQL: let the statement keep the stored value where the new one is equal; comparing reads it, "
            "but writes nothing. A column of type json has no equality: compare it as ::text."
        ),
        (_UPSERT, _COALESCE, _CASE),
    ),
    (
        (
            "ActiveRecord sends changed attributes only, unless partial updates are off, the attribute is "
            "marked with will_change!, or its type compares unequal after a round trip; upsert_all "
            "always sends every column."
        ),
        (_PARTIAL_UPDATES, _CHANGED, _UPSERT_ALL),
    ),
    (
        (
            "Hibernate names every column in every UPDATE unless the entity says otherwise. A type of your "
            "own, such as JSON, needs an equals() that compares contents."
        ),
        (_DYNAMIC_UPDATE,),
    ),
    (
        (
            "SQLAlchemy cannot see that a value is the same when the old one was not loaded; "
            "active_history loads it first. Core updates and bulk_update_mappings send what they are given."
        ),
        (_ACTIVE_HISTORY, _ON_CONFLICT),
    ),
    ("Django's save() sends every field that was loaded.", (_UPDATE_FIELDS, _BULK_UPDATE, _DEFER)),
    (
        (
            "Where the program cannot be changed, a trigger can put the stored value back. It reads and "
            "compares the old value at every UPDATE. suppress_redundant_updates_trigger does not help: "
            "to it a value that was sent differs from one that is stored out of line."
        ),
        (_TRIGGER,),
    ),
)


def remedies_of(table: str, column: str, expected: str) -> tuple[Remedy, ...]:
    """
    Return the remedies: changes of the program first, the change of the database last.

    Args:
        table: `schema.table`, quoted if necessary.
        column: the column whose values are sent again; the first one if there are several.
        expected: the effect that each remedy states.
    """
    name = "".join(letter if letter.isalnum() else "_" for letter in f"keep_{column}")

    def filled(code: str) -> str:
        code = code.replace("<table>", table).replace("<column>", column)
        return code.replace("<name>", name).strip()

    return tuple(
        Remedy(text=text, commands=tuple(filled(code) for code in codes), expected=expected) for text, codes in _STACKS
    )
