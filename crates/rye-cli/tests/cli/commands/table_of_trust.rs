//! What is tried of `rye trust`.

use super::table::Row;
use super::world::World::*;

pub(super) const TABLE_OF_TRUST: &[(&str, &[Row])] = &[
    (
        "trust add",
        &[
            (New, "trust add TRUST --yes", 0),
            (New, "trust add TRUST", 2),
            (Broken, "trust add garbage.txt --yes", 3),
            (New, "trust add nowhere.toml --yes", 1),
            (New, "trust add TRUST --yes --fingerprint 0123", 2),
            (New, "trust add TRUST --yes --expires tomorrow", 2),
            (Keyed, "trust add TRUST --yes --to project", 0),
            (New, "trust add TRUST --yes --to project", 2),
            (Nowhere, "trust add TRUST --yes --to project", 2),
            (New, "trust add TRUST --yes --to system", 2),
        ],
    ),
    (
        "trust export",
        &[
            (Trusting, "trust export 56dbf7b2d9ce86ed", 0),
            (Trusting, "trust export 56dbf7b2d9ce86ed --output example.toml", 0),
            (New, "trust export 56dbf7b2d9ce86ed", 1),
            (New, "trust export example", 2),
            (New, "trust export", 2),
        ],
    ),
    (
        "trust list",
        &[
            (Trusting, "trust list", 0),
            (New, "trust list --trust nowhere.toml", 1),
            (Broken, "trust list --trust garbage.txt", 3),
            (New, "trust list all", 2),
        ],
    ),
    (
        "trust policy",
        &[
            (New, "trust policy", 0),
            (New, "trust policy --accept", 0),
            (New, "trust policy --accept --json", 0),
            (Nowhere, "trust policy", 2),
            (New, "trust policy --user-space ../nowhere", 1),
            (New, "trust policy all", 2),
        ],
    ),
    (
        "trust remove",
        &[
            (Trusting, "trust remove 56dbf7b2d9ce86ed", 0),
            (New, "trust remove 56dbf7b2d9ce86ed", 1),
            (New, "trust remove example", 2),
            (New, "trust remove", 2),
        ],
    ),
    (
        "trust revoke",
        &[
            (Trusting, "trust revoke 56dbf7b2d9ce86ed", 0),
            (New, "trust revoke 56dbf7b2d9ce86ed", 1),
            (Trusting, "trust revoke 56dbf7b2d9ce86ed --at yesterday", 2),
            (Keyed, "trust revoke 56dbf7b2d9ce86ed --to project --reason left", 0),
            (New, "trust revoke 56dbf7b2d9ce86ed --to project", 2),
            (Trusting, "trust revoke 56dbf7b2d9ce86ed --reason left", 2),
            (New, "trust revoke example", 2),
        ],
    ),
    (
        "trust show",
        &[
            (Trusting, "trust show 56dbf7b2d9ce86ed", 0),
            (New, "trust show 56dbf7b2d9ce86ed", 1),
            (New, "trust show example", 2),
            (New, "trust show", 2),
        ],
    ),
];
