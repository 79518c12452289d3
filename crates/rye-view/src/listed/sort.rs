//! The order of the rows.

use std::cmp::{Ordering, Reverse};
use std::fmt;

use strum::{Display, EnumString, VariantArray};

use super::Listed;

/// A column by which the list can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Column {
    State,
    Directive,
    Model,
    Turns,
    #[strum(to_string = "tokens-in")]
    Input,
    #[strum(to_string = "tokens-out")]
    Output,
    #[strum(to_string = "usd")]
    Cost,
    #[strum(to_string = "time")]
    Duration,
    Started,
}

impl Column {
    /// Returns `true` if the column holds texts, which are sorted from A to Z. Figures are sorted with the largest first.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::State | Self::Directive | Self::Model)
    }

    fn compare(self, one: &Listed, other: &Listed) -> Ordering {
        let largest =
            |figure: fn(&Listed) -> u64| Reverse(figure(one)).cmp(&Reverse(figure(other)));
        match self {
            Self::State => one.standing.cmp(other.standing),
            Self::Directive => one.directive.cmp(&other.directive),
            Self::Model => one.model.cmp(&other.model),
            Self::Turns => largest(|row| row.turns),
            Self::Input => largest(Listed::input),
            Self::Output => largest(|row| row.usage.output),
            Self::Cost => largest(|row| row.cost.get()),
            Self::Duration => Reverse(one.duration).cmp(&Reverse(other.duration)),
            Self::Started => Reverse(one.created).cmp(&Reverse(other.created)),
        }
    }
}

/// The order of the list: by a column, in its own direction or reversed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sort {
    pub(crate) column: Column,
    pub(crate) is_reversed: bool,
}

/// The newest thread first, each before its children.
impl Default for Sort {
    fn default() -> Self {
        Self { column: Column::Started, is_reversed: false }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_reversed { "-" } else { "" }, self.column)
    }
}

impl Sort {
    /// Reads the name of an order.
    pub(super) fn read(name: &str) -> Option<Self> {
        let (column, is_reversed) = match name.strip_prefix('-') {
            Some(column) => (column, true),
            None => (name, false),
        };
        Some(Self { column: column.parse().ok()?, is_reversed })
    }

    /// The order that the head of a column leads to.
    pub(super) fn next(self, column: Column) -> Self {
        Self { column, is_reversed: self.column == column && !self.is_reversed }
    }

    /// The value of `aria-sort` at the head of a column.
    pub(crate) fn direction(self, column: Column) -> Option<&'static str> {
        let is_ascending = column.is_text() != self.is_reversed;
        (self.column == column).then_some(if is_ascending { "ascending" } else { "descending" })
    }

    /// Sorts rows. Equal rows keep their order.
    pub(crate) fn apply(self, rows: &mut [&Listed]) {
        match self.is_reversed {
            false => rows.sort_by(|one, other| self.column.compare(one, other)),
            true => rows.sort_by(|one, other| self.column.compare(other, one)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_is_read_as_it_is_named() {
        for column in Column::VARIANTS.iter().copied() {
            for is_reversed in [false, true] {
                let sort = Sort { column, is_reversed };
                assert_eq!(Sort::read(&sort.to_string()), Some(sort));
            }
        }
        assert_eq!(Sort::read("tokens"), None);
    }
}
