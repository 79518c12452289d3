//! A ledger that outlives its program and is shared by several.

mod child;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Balance, Ledger, LedgerError, Reservation, Spending};
use crate::database::{self, Database, DatabaseError, Durability};
use crate::{Nanos, SpendLimit, ThreadId};

/// Accounts in `registry.db`; each change is one transaction, and what takes money from an account is on disk when the
/// method returns.
pub struct SqliteLedger(Arc<Mutex<Database>>);

impl SqliteLedger {
    /// Opens the database, creating it where there is none; its folder must exist.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened or is of another version.
    pub fn open_file(path: &Path) -> Result<Self, LedgerError> {
        Ok(Self::new(&Arc::new(Mutex::new(Database::open(path)?))))
    }

    /// A ledger over a connection that has other uses too.
    pub(crate) fn new(database: &Arc<Mutex<Database>>) -> Self {
        Self(Arc::clone(database))
    }

    /// A panic elsewhere leaves no change behind: an unfinished transaction is rolled back.
    fn database(&self) -> MutexGuard<'_, Database> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SqliteLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteLedger").finish_non_exhaustive()
    }
}

impl Ledger for SqliteLedger {
    fn open(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError> {
        let cap_nanos = cap_nanos(cap)?;
        let mut database = self.database();
        let found = match balance(database.read(), thread) {
            // What is set aside in it waits for the disk, and for all before it.
            Err(LedgerError::UnknownAccount { .. }) => {
                database.write(Durability::Later, |connection| {
                    database::execute(
                        connection,
                        "INSERT INTO account VALUES (?1, ?2, 0, 0, 0) ON CONFLICT (thread) DO NOTHING",
                        params![thread.as_str(), cap_nanos],
                    )?;
                    balance(connection, thread)
                })
            }
            found => found,
        }?;
        match found.cap == cap {
            true => Ok(found),
            false => Err(LedgerError::CapDiffers { thread: thread.clone() }),
        }
    }

    fn set_cap(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError> {
        let differs = match self.open(thread, cap) {
            Err(differs @ LedgerError::CapDiffers { .. }) => differs,
            opened => return opened,
        };
        // Undone, the cap is set again by the transcript, before anything more is set aside.
        self.database().write(Durability::Later, |connection| {
            let changed = balance(connection, thread)?.with_cap(cap);
            let is_child = child::is_child(connection, thread)?;
            match changed.filter(|_| !is_child) {
                Some(changed) => {
                    store_cap(connection, thread, &changed)?;
                    Ok(changed)
                }
                None => Err(differs),
            }
        })
    }

    fn reserve(&self, thread: &ThreadId, amount: Nanos) -> Result<Reservation, LedgerError> {
        self.database().write(Durability::Now, |connection| reserve(connection, thread, amount))
    }

    fn settle(&self, reservation: Reservation, actual: Nanos) -> Result<Balance, LedgerError> {
        // Undone, the money is still set aside, which is the state of a program that was killed before this.
        self.database()
            .write(Durability::Later, |connection| settle(connection, &reservation, actual))
    }

    fn draw(
        &self,
        reservation: Reservation,
        actual: Nanos,
    ) -> Result<Option<Reservation>, LedgerError> {
        // Undone, as much is set aside for the thread as is settled and set aside now.
        self.database()
            .write(Durability::Later, |connection| draw(connection, &reservation, actual))
            .map(Some)
    }

    fn unsettled(&self, thread: &ThreadId) -> Result<Vec<Reservation>, LedgerError> {
        unsettled(self.database().read(), thread)
    }

    fn open_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
    ) -> Result<Balance, LedgerError> {
        self.database()
            .write(Durability::Now, |connection| child::open(connection, parent, child, cap))
    }

    fn close_child(&self, child: &ThreadId) -> Result<Balance, LedgerError> {
        self.database().write(Durability::Now, |connection| {
            child::close(connection, child)?;
            balance(connection, child)
        })
    }

    fn recall(&self, thread: &ThreadId, spending: Spending) -> Result<Balance, LedgerError> {
        self.database().write(Durability::Now, |connection| recall(connection, thread, spending))
    }

    fn recall_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
        cost: Nanos,
    ) -> Result<(), LedgerError> {
        self.database().write(Durability::Now, |connection| {
            child::recall(connection, (parent, child), cap, cost)
        })
    }
}

fn recall(
    connection: &Connection,
    thread: &ThreadId,
    spending: Spending,
) -> Result<Balance, LedgerError> {
    let found = balance(connection, thread)?;
    let own = found.cost().saturating_sub(child::settled_below(connection, thread)?);
    // All reservations are looked through where there is none.
    let has_reserved = own != Nanos::ZERO || child::has_reserved_itself(connection, thread)?;
    let missing = spending.missing(own, has_reserved);
    if missing == Nanos::ZERO || child::is_closed(connection, thread)? {
        return Ok(found);
    }
    let changed = found.settle(Nanos::ZERO, missing).ok_or(LedgerError::TooLarge)?;
    store(connection, thread, &changed)?;
    Ok(changed)
}

fn reserve(
    connection: &Connection,
    thread: &ThreadId,
    amount: Nanos,
) -> Result<Reservation, LedgerError> {
    let amount_nanos = integer(amount)?;
    let balance = balance(connection, thread)?;
    let is_closed = child::is_closed(connection, thread)?;
    let Some(changed) = balance.reserve(amount).filter(|_| !is_closed) else {
        return Err(LedgerError::Exhausted { thread: thread.clone(), balance, needed: amount });
    };
    store(connection, thread, &changed)?;
    database::execute(
        connection,
        "INSERT INTO reservation (thread, amount_nanos) VALUES (?1, ?2)",
        params![thread.as_str(), amount_nanos],
    )?;
    let number =
        u64::try_from(connection.last_insert_rowid()).map_err(|_| LedgerError::TooLarge)?;
    Ok(Reservation { thread: thread.clone(), number, amount })
}

fn settle(
    connection: &Connection,
    reservation: &Reservation,
    actual: Nanos,
) -> Result<Balance, LedgerError> {
    let Reservation { thread, number, amount } = reservation;
    let closed = database::execute(
        connection,
        "UPDATE reservation SET actual_nanos = ?1
         WHERE number = ?2 AND thread = ?3 AND amount_nanos = ?4 AND actual_nanos IS NULL",
        params![integer(actual)?, number.cast_signed(), thread.as_str(), integer(*amount)?],
    )?;
    if closed != 1 {
        return Err(LedgerError::UnknownReservation { thread: thread.clone() });
    }
    let changed =
        balance(connection, thread)?.settle(*amount, actual).ok_or(LedgerError::TooLarge)?;
    store(connection, thread, &changed)?;
    Ok(changed)
}

fn draw(
    connection: &Connection,
    reservation: &Reservation,
    actual: Nanos,
) -> Result<Reservation, LedgerError> {
    let Reservation { thread, number, amount } = reservation;
    let left = amount.saturating_sub(actual);
    let drawn = database::execute(
        connection,
        "UPDATE reservation SET amount_nanos = ?1
         WHERE number = ?2 AND thread = ?3 AND amount_nanos = ?4 AND actual_nanos IS NULL",
        params![integer(left)?, number.cast_signed(), thread.as_str(), integer(*amount)?],
    )?;
    if drawn != 1 {
        return Err(LedgerError::UnknownReservation { thread: thread.clone() });
    }
    let changed =
        balance(connection, thread)?.draw(*amount, actual).ok_or(LedgerError::TooLarge)?;
    store(connection, thread, &changed)?;
    Ok(Reservation { thread: thread.clone(), number: *number, amount: left })
}

fn unsettled(connection: &Connection, thread: &ThreadId) -> Result<Vec<Reservation>, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT number, amount_nanos FROM reservation
         WHERE thread = ?1 AND actual_nanos IS NULL
           AND NOT EXISTS (SELECT 1 FROM child WHERE child.reservation = number) ORDER BY number",
    )?;
    let rows = statement.query_map([thread.as_str()], |row| {
        let (number, amount): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (number, amount) = (number.unsigned_abs(), Nanos::new(amount.unsigned_abs()));
        Ok(Reservation { thread: thread.clone(), number, amount })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn balance(connection: &Connection, thread: &ThreadId) -> Result<Balance, LedgerError> {
    connection
        .prepare_cached(
            "SELECT cap_nanos, settled_nanos, reserved_nanos, overrun_nanos FROM account WHERE thread = ?1",
        )?
        .query_row([thread.as_str()], read)
        .optional()?
        .ok_or_else(|| LedgerError::UnknownAccount { thread: thread.clone() })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Balance> {
    let nanos = |index: usize| row.get(index).map(|nanos: i64| Nanos::new(nanos.unsigned_abs()));
    let cap: Option<i64> = row.get(0)?;
    Ok(Balance {
        cap: cap.map_or(SpendLimit::Unlimited, |cap| {
            SpendLimit::AtMost(Nanos::new(cap.unsigned_abs()))
        }),
        settled: nanos(1)?,
        reserved: nanos(2)?,
        overrun: nanos(3)?,
    })
}

fn store(connection: &Connection, thread: &ThreadId, balance: &Balance) -> Result<(), LedgerError> {
    database::execute(
        connection,
        "UPDATE account SET settled_nanos = ?2, reserved_nanos = ?3, overrun_nanos = ?4 WHERE thread = ?1",
        params![
            thread.as_str(),
            integer(balance.settled)?,
            integer(balance.reserved)?,
            integer(balance.overrun)?
        ],
    )?;
    Ok(())
}

fn store_cap(
    connection: &Connection,
    thread: &ThreadId,
    balance: &Balance,
) -> Result<(), LedgerError> {
    // One statement, because the table holds every state of a row against the cap.
    database::execute(
        connection,
        "UPDATE account SET settled_nanos = ?2, reserved_nanos = ?3, overrun_nanos = ?4, cap_nanos = ?5 WHERE thread = ?1",
        params![
            thread.as_str(),
            integer(balance.settled)?,
            integer(balance.reserved)?,
            integer(balance.overrun)?,
            cap_nanos(balance.cap)?
        ],
    )?;
    Ok(())
}

/// The cap as a column holds it, where nothing stands for no cap.
fn cap_nanos(cap: SpendLimit) -> Result<Option<i64>, LedgerError> {
    match cap {
        SpendLimit::Unlimited => Ok(None),
        SpendLimit::AtMost(cap) => integer(cap).map(Some),
    }
}

/// SQLite's integers are signed.
fn integer(amount: Nanos) -> Result<i64, LedgerError> {
    i64::try_from(amount.get()).map_err(|_| LedgerError::TooLarge)
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store { source: crate::database::reason(error) }
    }
}

impl From<DatabaseError> for LedgerError {
    fn from(error: DatabaseError) -> Self {
        Self::Store { source: Box::new(error) }
    }
}
