//! Accounts below accounts: what is set aside in the account of a parent stands for all that its child may spend.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{balance, cap_nanos, reserve, settle, store, unsettled};
use crate::budget::{Balance, LedgerError, Reservation};
use crate::{Nanos, SpendLimit, ThreadId};

pub(super) fn open(
    connection: &Connection,
    parent: &ThreadId,
    child: &ThreadId,
    cap: SpendLimit,
) -> Result<Balance, LedgerError> {
    if let Some(found) = existing(connection, parent, child, cap)? {
        return Ok(found);
    }
    let parents = balance(connection, parent)?;
    let Some(needed) = parents.needed_for(cap) else {
        let (thread, needed) = (parent.clone(), Nanos::new(u64::MAX));
        return Err(LedgerError::Exhausted { thread, balance: parents, needed });
    };
    let number = reserve(connection, parent, needed)?.number;
    enter(connection, child, (parent, number), cap)?;
    balance(connection, child)
}

fn enter(
    connection: &Connection,
    child: &ThreadId,
    (parent, number): (&ThreadId, u64),
    cap: SpendLimit,
) -> Result<(), LedgerError> {
    let cap_nanos = cap_nanos(cap)?;
    connection.execute(
        "INSERT INTO account VALUES (?1, ?2, 0, 0, 0)",
        params![child.as_str(), cap_nanos],
    )?;
    connection.execute(
        "INSERT INTO child VALUES (?1, ?2, ?3)",
        params![child.as_str(), parent.as_str(), number.cast_signed()],
    )?;
    Ok(())
}

fn existing(
    connection: &Connection,
    parent: &ThreadId,
    child: &ThreadId,
    cap: SpendLimit,
) -> Result<Option<Balance>, LedgerError> {
    let found = match balance(connection, child) {
        Err(LedgerError::UnknownAccount { .. }) => return Ok(None),
        found => found?,
    };
    match row(connection, child)? {
        Some(row) if row.parent == parent.as_str() && found.cap == cap => Ok(Some(found)),
        Some(row) if row.parent == parent.as_str() => {
            Err(LedgerError::CapDiffers { thread: child.clone() })
        }
        _ => Err(LedgerError::OtherParent { thread: child.clone(), parent: parent.clone() }),
    }
}

/// Closes the account with all below it; the database holds no circle, because a child is new when it is opened.
pub(super) fn close(connection: &Connection, thread: &ThreadId) -> Result<(), LedgerError> {
    let unknown = || LedgerError::UnknownAccount { thread: thread.clone() };
    let row = row(connection, thread)?.ok_or_else(unknown)?;
    if !row.is_open {
        return Ok(());
    }
    for child in below(connection, thread)? {
        close(connection, &child)?;
    }
    for left in unsettled(connection, thread)? {
        settle(connection, &left, left.amount)?;
    }
    let cost = balance(connection, thread)?.cost();
    let parent = row.parent.parse().map_err(unreadable)?;
    let reservation = Reservation { thread: parent, number: row.number, amount: row.amount };
    settle(connection, &reservation, cost).map(drop)
}

/// Enters a child that has ended.
pub(super) fn recall(
    connection: &Connection,
    (parent, child): (&ThreadId, &ThreadId),
    cap: SpendLimit,
    cost: Nanos,
) -> Result<(), LedgerError> {
    match balance(connection, child) {
        Err(LedgerError::UnknownAccount { .. }) => {}
        found => return correct(connection, (parent, child), &found?, cost),
    }
    let ended = Balance::ended(cap, cost).ok_or(LedgerError::TooLarge)?;
    let reservation = reserve(connection, parent, Nanos::ZERO)?;
    enter(connection, child, (parent, reservation.number), cap)?;
    store(connection, child, &ended)?;
    settle(connection, &reservation, cost).map(drop)
}

/// Closes the account of a child that had not ended when this ledger was copied, with what it came to since.
fn correct(
    connection: &Connection,
    (parent, child): (&ThreadId, &ThreadId),
    found: &Balance,
    cost: Nanos,
) -> Result<(), LedgerError> {
    let is_open = |row: &Row| row.is_open && row.parent == parent.as_str();
    let Some(row) = row(connection, child)?.filter(is_open) else { return Ok(()) };
    for each in below(connection, child)? {
        close(connection, &each)?;
    }
    for left in unsettled(connection, child)? {
        settle(connection, &left, Nanos::ZERO)?;
    }
    let cost = cost.max(found.cost());
    let ended = Balance::ended(found.cap, cost).ok_or(LedgerError::TooLarge)?;
    store(connection, child, &ended)?;
    let reservation =
        Reservation { thread: parent.clone(), number: row.number, amount: row.amount };
    settle(connection, &reservation, cost).map(drop)
}

/// What is settled in the account for children that were closed.
pub(super) fn settled_below(
    connection: &Connection,
    thread: &ThreadId,
) -> Result<Nanos, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT SUM(actual_nanos) FROM child JOIN reservation ON number = child.reservation
         WHERE child.parent = ?1",
    )?;
    let sum: Option<i64> = statement.query_row([thread.as_str()], |row| row.get(0))?;
    Ok(Nanos::new(sum.unwrap_or_default().unsigned_abs()))
}

/// Whether something was ever set aside for the thread's own requests.
pub(super) fn has_reserved_itself(
    connection: &Connection,
    thread: &ThreadId,
) -> Result<bool, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM reservation WHERE thread = ?1
           AND NOT EXISTS (SELECT 1 FROM child WHERE child.reservation = number))",
    )?;
    Ok(statement.query_row([thread.as_str()], |row| row.get(0))?)
}

/// Whether the account is one of a child whose end is settled.
pub(super) fn is_closed(connection: &Connection, thread: &ThreadId) -> Result<bool, LedgerError> {
    Ok(row(connection, thread)?.is_some_and(|row| !row.is_open))
}

/// Returns `true` if another thread started this one.
pub(super) fn is_child(connection: &Connection, thread: &ThreadId) -> Result<bool, LedgerError> {
    Ok(row(connection, thread)?.is_some())
}

struct Row {
    parent: String,
    number: u64,
    amount: Nanos,
    is_open: bool,
}

fn row(connection: &Connection, child: &ThreadId) -> Result<Option<Row>, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT child.parent, number, amount_nanos, actual_nanos IS NULL
         FROM child JOIN reservation ON number = child.reservation WHERE child.thread = ?1",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        let (number, amount): (i64, i64) = (row.get(1)?, row.get(2)?);
        Ok(Row {
            parent: row.get(0)?,
            number: number.unsigned_abs(),
            amount: Nanos::new(amount.unsigned_abs()),
            is_open: row.get(3)?,
        })
    };
    Ok(statement.query_row([child.as_str()], read).optional()?)
}

fn below(connection: &Connection, thread: &ThreadId) -> Result<Vec<ThreadId>, LedgerError> {
    let mut statement =
        connection.prepare_cached("SELECT thread FROM child WHERE parent = ?1 ORDER BY thread")?;
    let rows = statement.query_map([thread.as_str()], |row| row.get::<_, String>(0))?;
    rows.map(|row| row?.parse().map_err(unreadable)).collect()
}

fn unreadable(error: crate::ThreadIdError) -> LedgerError {
    LedgerError::Store { source: Box::new(error) }
}
