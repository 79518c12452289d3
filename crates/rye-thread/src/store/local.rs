//! The store of a project: leases and money in `registry.db`, each journal in the folder of its thread.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};

use super::files::Files;
use super::leases::{Leases, path_of, take};
use super::owner::{Owner, file_name, lives};
use super::{Claim, Lease, Store, StoreError};
use crate::budget::{Ledger, SqliteLedger};
use crate::database::{self, Database, DatabaseError, Durability};
use crate::{Moment, Nanos, Registry, ThreadId};

/// Threads below one folder of one machine, shared by any number of programs there.
///
/// A line is appended under a lock that whoever takes the thread over needs too, so that a program which was taken over cannot
/// write even where it looked just before: a file of the program, where its leases are taken from it, or the whole database on
/// systems without file locks. The lease of a program that has died is free at once where there are such locks; elsewhere it
/// lapses by its time.
pub struct LocalStore {
    database: Arc<Mutex<Database>>,
    ledger: SqliteLedger,
    files: Files,
    leases: Leases,
    threads: PathBuf,
    /// Leases that were given back while the database took nothing, which it learns with the next one.
    given_back: Mutex<Vec<Lease>>,
    /// Last, so that this program counts as alive until the rest is gone.
    owner: Owner,
}

impl LocalStore {
    /// Opens the folder of all threads, which is made where it is missing.
    ///
    /// # Errors
    ///
    /// When the folder or its `registry.db` cannot be used, or is of another version.
    pub fn open(threads: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::File { path: threads.to_owned(), source };
        fs::create_dir_all(threads).map_err(failed)?;
        let database = Database::open(&threads.join("registry.db"))?;
        let database = Arc::new(Mutex::new(database));
        let owner = Owner::enter(threads).map_err(failed)?;
        let leases = Leases::enter(threads, &owner)?;
        Ok(Self {
            ledger: SqliteLedger::new(&database),
            database,
            files: Files::new(threads),
            leases,
            threads: threads.to_owned(),
            given_back: Mutex::default(),
            owner,
        })
    }

    /// The list of these threads, over the same connection: what one of both writes, the other need not read again.
    #[must_use]
    pub fn registry(&self) -> Registry {
        Registry::new(&self.database)
    }

    /// Who drives the thread at this time, as a refusal would name it; nobody, where its last lease was given back, has
    /// lapsed, or was a program's that has died.
    ///
    /// # Errors
    ///
    /// When the database fails, or the file of the program that holds the thread cannot be looked at.
    pub fn driver(&self, thread: &ThreadId, now: Moment) -> Result<Option<String>, StoreError> {
        match row(self.database().read(), thread)? {
            Some(row) if self.is_in_the_way(&row, now)? => Ok(Some(row.owner)),
            _ => Ok(None),
        }
    }

    /// What the thread and all below it have cost by now, as far as it is settled; nothing, for a thread without an account.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn spent(&self, thread: &ThreadId) -> Result<Option<Nanos>, StoreError> {
        spent(self.database().read(), thread)
    }

    /// Removes what the database holds of these threads: their rows, accounts and leases.
    ///
    /// The caller holds their leases, so that no other process begins to drive one of them meanwhile.
    ///
    /// # Errors
    ///
    /// When the database fails; then it holds all that it held before.
    pub fn forget(&self, threads: &[ThreadId]) -> Result<(), StoreError> {
        self.database().write(Durability::Now, |connection| {
            for statement in FORGET {
                for thread in threads {
                    database::execute(connection, statement, [thread.as_str()])?;
                }
            }
            Ok(())
        })
    }

    /// A panic elsewhere leaves no change behind: an unfinished transaction is rolled back.
    fn database(&self) -> MutexGuard<'_, Database> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something while nobody can take the thread over.
    fn held<T>(
        &self,
        lease: &Lease,
        action: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if Leases::ARE_LOCKED {
            let done =
                self.leases.holding(lease, action).map_err(|source| self.unlocked(source))?;
            return done.unwrap_or_else(|| Err(stale(lease)));
        }
        self.database().write(Durability::Later, |connection| {
            check(connection, lease)?;
            action()
        })
    }

    /// Whether the lease still counts, by now.
    fn check(&self, lease: &Lease) -> Result<(), StoreError> {
        if !Leases::ARE_LOCKED {
            return check(self.database().read(), lease);
        }
        match self.leases.has(lease).map_err(|source| self.unlocked(source))? {
            true => Ok(()),
            false => Err(stale(lease)),
        }
    }

    fn unlocked(&self, source: std::io::Error) -> StoreError {
        StoreError::File { path: self.leases.path().to_owned(), source }
    }

    /// Takes the lease from its program, which learns of it before anybody else has the thread; also from one that seems to have
    /// died, because somebody may have removed the file that shows that it lives.
    fn take_from(&self, row: &Row, thread: &ThreadId) -> Result<(), StoreError> {
        let is_ours = row.holder == self.owner.name();
        let Some(holder) = file_name(&row.holder).filter(|_| !is_ours && Leases::ARE_LOCKED) else {
            return Ok(());
        };
        let path = path_of(&self.threads, holder);
        take(&path, &Lease::new(thread.clone(), row.epoch))
            .map_err(|source| StoreError::File { path, source })
    }

    /// Whether the lease keeps others away: its time is not up, and its program may live.
    fn is_in_the_way(&self, row: &Row, now: Moment) -> Result<bool, StoreError> {
        let is_ours = row.holder == self.owner.name();
        Ok(now < row.until && (is_ours || lives(&self.threads, &row.holder)?))
    }
}

impl fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalStore").field("files", &self.files).finish_non_exhaustive()
    }
}

/// Leases do not wait for the disk: whoever held one does not outlive the machine's power.
impl Store for LocalStore {
    fn ledger(&self) -> &dyn Ledger {
        &self.ledger
    }

    fn acquire(&self, thread: &ThreadId, claim: &Claim) -> Result<Lease, StoreError> {
        let mut given_back = self.given_back.lock().unwrap_or_else(PoisonError::into_inner);
        let lease = self.database().write(Durability::Later, |connection| {
            given_back.iter().try_for_each(|lease| give_back(connection, lease))?;
            let row = row(connection, thread)?;
            if let Some(row) = &row
                && self.is_in_the_way(row, claim.now)?
            {
                let (thread, owner, until) = (thread.clone(), row.owner.clone(), row.until);
                return Err(StoreError::Held { thread, owner, until });
            }
            row.as_ref().map_or(Ok(()), |row| self.take_from(row, thread))?;
            let epoch = row.map_or(0, |row| row.epoch) + 1;
            database::execute(
                connection,
                "INSERT INTO lease VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (thread) DO UPDATE SET owner = ?2, holder = ?3, until_millis = ?4, epoch = ?5",
                params![
                    thread.as_str(),
                    claim.owner,
                    self.owner.name(),
                    claim.until.as_unix_millis(),
                    epoch.cast_signed(),
                ],
            )?;
            // A file of an earlier lease may stand for a folder that is gone.
            self.files.close(thread);
            Ok(Lease::new(thread.clone(), epoch))
        });
        lease.inspect(|lease| {
            given_back.clear();
            self.leases.add(lease);
        })
    }

    fn sees_death(&self) -> bool {
        Leases::ARE_LOCKED
    }

    fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        // Before somebody else can have the thread. Who took it over in this program goes on with the open file.
        if self.leases.remove(lease) {
            self.files.close(lease.thread());
        }
        let given = self.database().write(Durability::Later, |connection| {
            give_back(connection, lease).map_err(StoreError::from)
        });
        given.inspect_err(|_| {
            let mut given_back = self.given_back.lock().unwrap_or_else(PoisonError::into_inner);
            given_back.push(lease.clone());
        })
    }

    fn append(&self, lease: &Lease, lines: &[u8]) -> Result<(), StoreError> {
        self.held(lease, || self.files.append(lease.thread(), lines))
    }

    fn holding(&self, lease: &Lease, action: &mut dyn FnMut()) -> Result<(), StoreError> {
        self.held(lease, || {
            action();
            Ok(())
        })
    }

    /// The disk is waited for without a lock, which others need meanwhile. What comes next is done by who still holds the lease
    /// then.
    fn sync(&self, lease: &Lease) -> Result<(), StoreError> {
        if Leases::ARE_LOCKED && !self.leases.knows(lease) {
            return Err(stale(lease));
        }
        self.files.sync(lease.thread())?;
        self.check(lease)
    }

    fn cut(&self, lease: &Lease, length: u64) -> Result<(), StoreError> {
        self.held(lease, || self.files.cut(lease.thread(), length))
    }

    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.files.read(thread)
    }
}

/// In the order in which the rows refer to each other.
const FORGET: [&str; 5] = [
    "DELETE FROM child WHERE thread = ?1 OR parent = ?1",
    "DELETE FROM reservation WHERE thread = ?1",
    "DELETE FROM account WHERE thread = ?1",
    "DELETE FROM lease WHERE thread = ?1",
    "DELETE FROM thread WHERE id = ?1",
];

/// A child that was closed is settled in the account above it.
const SPENT: &str = "
WITH RECURSIVE tree (thread) AS (
    SELECT ?1
    UNION
    SELECT child.thread FROM child
    JOIN tree ON child.parent = tree.thread
    JOIN reservation ON reservation.number = child.reservation
    WHERE reservation.actual_nanos IS NULL
)
SELECT settled_nanos, overrun_nanos FROM account JOIN tree USING (thread)";

pub(super) fn spent(
    connection: &Connection,
    thread: &ThreadId,
) -> Result<Option<Nanos>, StoreError> {
    let mut statement = connection.prepare_cached(SPENT)?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    // Added up here, because a sum in SQL fails where it is too great.
    let (mut accounts, mut spent) = (0, Nanos::ZERO);
    for amounts in statement.query_map([thread.as_str()], read)? {
        let (settled, overrun) = amounts?;
        accounts += 1;
        for amount in [settled, overrun] {
            spent = spent.saturating_add(Nanos::new(amount.unsigned_abs()));
        }
    }
    Ok((0 < accounts).then_some(spent))
}

pub(super) struct Row {
    pub(super) owner: String,
    pub(super) holder: String,
    pub(super) until: Moment,
    epoch: u64,
}

pub(super) fn row(connection: &Connection, thread: &ThreadId) -> rusqlite::Result<Option<Row>> {
    let mut statement = connection
        .prepare_cached("SELECT owner, holder, until_millis, epoch FROM lease WHERE thread = ?1")?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Row {
            owner: row.get(0)?,
            holder: row.get(1)?,
            until: Moment::from_unix_millis(row.get(2)?),
            epoch: row.get::<_, i64>(3)?.unsigned_abs(),
        })
    };
    statement.query_row([thread.as_str()], read).optional()
}

/// Nobody holds it from now on.
fn give_back(connection: &Connection, lease: &Lease) -> rusqlite::Result<()> {
    database::execute(
        connection,
        "UPDATE lease SET holder = '', until_millis = ?3 WHERE thread = ?1 AND epoch = ?2",
        params![lease.thread().as_str(), lease.epoch().cast_signed(), i64::MIN],
    )?;
    Ok(())
}

fn check(connection: &Connection, lease: &Lease) -> Result<(), StoreError> {
    match row(connection, lease.thread())? {
        Some(row) if row.epoch == lease.epoch() && !row.holder.is_empty() => Ok(()),
        _ => Err(stale(lease)),
    }
}

fn stale(lease: &Lease) -> StoreError {
    StoreError::Stale { thread: lease.thread().clone() }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database { source: crate::database::reason(error) }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        Self::Database { source: Box::new(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody waits for a program that has nothing to do with the thread any more.
    #[test]
    fn a_lease_that_could_not_be_given_back_is_with_the_next_one() {
        let place = tempfile::tempdir().unwrap();
        let store = LocalStore::open(place.path()).unwrap();
        let threads = ["a", "b"].map(|name| {
            let thread = ThreadId::new(name, "019a0000-0000-7000-8000-000000000001").unwrap();
            fs::create_dir(place.path().join(thread.as_str())).unwrap();
            thread
        });
        let (now, later) = (Moment::from_unix_millis(0), Moment::from_unix_millis(i64::MAX));
        let claim = Claim::new("a program", now, later);
        let [one, two] = threads.map(|thread| (store.acquire(&thread, &claim).unwrap(), thread));
        let is_full = |is: bool| store.database().read().pragma_update(None, "query_only", is);
        is_full(true).unwrap();
        store.release(&one.0).unwrap_err();
        assert!(matches!(store.append(&one.0, b"x"), Err(StoreError::Stale { .. })));
        drop(store.acquire(&one.1, &claim).unwrap_err());
        is_full(false).unwrap();
        assert!(matches!(store.acquire(&two.1, &claim), Err(StoreError::Held { .. })));
        let again = store.acquire(&one.1, &claim).unwrap();
        assert_eq!(again.epoch(), 2);
        store.append(&again, b"x").unwrap();
    }
}
