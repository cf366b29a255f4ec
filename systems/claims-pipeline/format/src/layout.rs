//! The layouts: which bytes of a record are which field, and what a field holds.
//!
//! Rule 1: `cclf.toml` is the only place that knows a layout. It is compiled in, and read once when the program starts.

use toml::{Table, Value};

/// The layouts as the Python package has them too.
const SOURCE: &str = include_str!("../../src/claims_pipeline/layout/cclf.toml");

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A code or a name. Blanks around it are dropped.
    Text,
    /// CCYY-MM-DD, or none.
    Date,
    /// Dollars and cents.
    Amount,
    /// A decimal number with this many digits behind the point.
    Quantity(u8),
    /// A whole number of 32 bits.
    Integer,
    /// A whole number of 64 bits.
    Id,
}

/// One field of a record.
#[derive(Clone, Debug)]
pub struct Field {
    /// CMS's label, in lower case.
    pub name: String,
    /// Offset of the first byte, from 0.
    pub start: usize,
    /// Length in bytes.
    pub width: usize,
    /// What it holds.
    pub holds: Type,
    /// Part of the key, so it must not be blank.
    pub is_key: bool,
}

/// The layout of one kind of file.
#[derive(Clone, Debug)]
pub struct Layout {
    /// For example `part_a_claims`.
    pub kind: String,
    /// The fields, in the order of the record.
    pub fields: Vec<Field>,
    /// Bytes of a record, without the end of its line.
    pub width: usize,
}

/// Returns the layouts of all kinds.
///
/// # Panics
///
/// The layouts that were compiled in are not what this program expects.
pub fn all() -> Vec<Layout> {
    let table: Table = SOURCE.parse().expect("the layouts are TOML");
    list(&table, "record").iter().map(layout_of).collect()
}

fn layout_of(record: &Value) -> Layout {
    let record = record.as_table().expect("a record is a table");
    let key: Vec<&str> = list(record, "key").iter().filter_map(Value::as_str).collect();
    let fields: Vec<Field> =
        list(record, "fields").iter().map(|field| field_of(field, &key)).collect();
    let width = fields.last().map_or(0, |field| field.start + field.width);
    Layout { kind: text(record, "kind").to_owned(), fields, width }
}

fn field_of(field: &Value, key: &[&str]) -> Field {
    let field = field.as_table().expect("a field is a table");
    let format = text(field, "format");
    let decimals = format.split_once('.').map_or(0, |(_, after)| after.len());
    let holds = match text(field, "type") {
        "text" => Type::Text,
        "date" => Type::Date,
        "amount" => Type::Amount,
        "quantity" => Type::Quantity(u8::try_from(decimals).expect("few decimals")),
        "integer" => Type::Integer,
        "id" => Type::Id,
        other => panic!("no type {other}"),
    };
    let name = text(field, "name").to_owned();
    Field {
        is_key: key.contains(&name.as_str()),
        name,
        start: number(field, "start") - 1,
        width: number(field, "width"),
        holds,
    }
}

fn list<'a>(table: &'a Table, key: &str) -> &'a [Value] {
    table[key].as_array().expect("a list")
}

fn text<'a>(table: &'a Table, key: &str) -> &'a str {
    table[key].as_str().expect("a text")
}

fn number(table: &Table, key: &str) -> usize {
    usize::try_from(table[key].as_integer().expect("a number")).expect("not negative")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_one_another_without_gaps() {
        for layout in all() {
            let mut next = 0;
            for field in &layout.fields {
                assert_eq!(next, field.start, "{} of {}", field.name, layout.kind);
                next += field.width;
            }
            assert_eq!(next, layout.width);
        }
    }

    #[test]
    fn widths_are_those_of_the_packet() {
        let widths: Vec<usize> = all().iter().map(|layout| layout.width).collect();

        assert_eq!(widths, [437, 199, 112, 388, 195, 549]);
    }
}
