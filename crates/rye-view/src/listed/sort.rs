//! The order of the rows.

use std::cmp::{Ordering, Reverse};

use super::Listed;

/// A column by which the list can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    State,
    Directive,
    Model,
    Turns,
    Input,
    Output,
    Cost,
    Duration,
    Started,
}

impl Column {
    const ALL: [Self; 9] = [
        Self::State,
        Self::Directive,
        Self::Model,
        Self::Turns,
        Self::Input,
        Self::Output,
        Self::Cost,
        Self::Duration,
        Self::Started,
    ];

    /// The names of both directions in an address.
    const fn names(self) -> [&'static str; 2] {
        match self {
            Self::State => ["state", "-state"],
            Self::Directive => ["directive", "-directive"],
            Self::Model => ["model", "-model"],
            Self::Turns => ["turns", "-turns"],
            Self::Input => ["tokens-in", "-tokens-in"],
            Self::Output => ["tokens-out", "-tokens-out"],
            Self::Cost => ["usd", "-usd"],
            Self::Duration => ["time", "-time"],
            Self::Started => ["started", "-started"],
        }
    }

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

impl Sort {
    /// Reads the name of an order.
    pub(super) fn read(name: &str) -> Option<Self> {
        let is_reversed = name.starts_with('-');
        let column = Column::ALL
            .into_iter()
            .find(|column| column.names()[usize::from(is_reversed)] == name)?;
        Some(Self { column, is_reversed })
    }

    pub(crate) const fn as_str(self) -> &'static str {
        let [plain, reversed] = self.column.names();
        if self.is_reversed { reversed } else { plain }
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
        for column in Column::ALL {
            for is_reversed in [false, true] {
                let sort = Sort { column, is_reversed };
                assert_eq!(Sort::read(sort.as_str()), Some(sort));
            }
        }
        assert_eq!(Sort::read("tokens"), None);
    }
}
