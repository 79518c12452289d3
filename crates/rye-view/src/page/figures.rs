//! Figures as people read them.

use rye_types::{Moment, Nanos};

/// Dollars with four digits: `$0.0338`. An amount that is smaller, and not nothing, is said to be.
pub(crate) fn dollars(amount: Nanos) -> String {
    const SMALLEST: u64 = 100_000;
    let parts = amount.get().saturating_add(SMALLEST / 2) / SMALLEST;
    match (parts, amount.get()) {
        (0, 1..) => "<$0.0001".to_owned(),
        _ => format!("${}.{:04}", with_commas(parts / 10_000), parts % 10_000),
    }
}

/// The same below a head that names the unit: `0.0338`.
pub(crate) fn usd(amount: Nanos) -> String {
    dollars(amount).replacen('$', "", 1)
}

/// A limit in dollars, without zeros that say nothing: `$0.50`.
pub(crate) fn limit(amount: Nanos) -> String {
    let exact = amount.to_string();
    let (whole, fraction) = exact.trim_end_matches(" USD").split_once('.').unwrap_or(("0", "00"));
    format!("${}.{fraction}", with_commas(whole.parse().unwrap_or(0)))
}

/// A whole number with commas: `205,201`.
pub(crate) fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A whole number in at most five places: `9,310`, `540 k`, `15.9 M`.
pub(crate) fn compact(number: u64) -> String {
    match number {
        0..10_000 => with_commas(number),
        10_000..1_000_000 => format!("{} k", number / 1_000),
        1_000_000..1_000_000_000 => {
            format!("{}.{} M", number / 1_000_000, number % 1_000_000 / 100_000)
        }
        _ => format!("{} G", with_commas(number / 1_000_000_000)),
    }
}

/// A length of time: `14 ms`, `6.2 s`, `1 m 13 s`, `2 h 03 m`.
pub(crate) fn duration(millis: u64) -> String {
    let seconds = millis.saturating_add(500) / 1_000;
    match millis {
        0..100 => format!("{millis} ms"),
        100..59_950 => format!("{}.{} s", (millis + 50) / 1_000, (millis + 50) % 1_000 / 100),
        _ if seconds < 3_600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A time into a thread: `1:41.9`.
pub(crate) fn offset(millis: u64) -> String {
    let tenths = millis / 100;
    format!("{}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}

/// A size: `1.9 kB`.
pub(crate) fn bytes(count: usize) -> String {
    match count {
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{} MB", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// A count with its noun: `1 line`, `2 lines`.
pub(crate) fn count_noun(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", with_commas(u64::try_from(count).unwrap_or(u64::MAX)))
}

/// A day and a time: `22 Nov 2026, 10:41:12 UTC`.
pub(crate) fn day_and_time(moment: Moment) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = moment.to_string();
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    let month =
        part(5..7).parse::<usize>().ok().and_then(|month| MONTHS.get(month.checked_sub(1)?));
    let day = part(8..10).trim_start_matches('0');
    format!("{day} {} {}, {} UTC", month.unwrap_or(&""), part(0..4), part(11..19))
}

/// A day and a time without year and seconds: `22 Nov, 10:41`.
pub(crate) fn short_time(moment: Moment) -> String {
    let long = day_and_time(moment);
    let (date, time) = long.split_once(", ").unwrap_or_default();
    let day = date.rsplit_once(' ').map_or(date, |(day, _)| day);
    format!("{day}, {}", time.get(..5).unwrap_or_default())
}

/// The time of day with milliseconds: `10:42:53.911 UTC`.
pub(crate) fn time_of_day(moment: Moment) -> String {
    let text = moment.to_string();
    format!("{} UTC", text.get(11..23).unwrap_or_default())
}

/// Hex digits in groups: of four for a key, of eight for a hash.
pub(crate) fn hex_groups(digits: &str, size: usize) -> String {
    let digits: Vec<char> = digits.chars().collect();
    digits.chunks(size).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
}

/// The first 16 digits of a key id, in groups.
pub(crate) fn key(id: &str) -> String {
    let more = if id.len() > 16 { " …" } else { "" };
    format!("{}{more}", hex_groups(id.get(..16).unwrap_or(id), 4))
}

/// The last characters of a thread's id, by which it can be named.
pub(crate) fn short_id(thread: &str) -> String {
    let tail = thread.len().saturating_sub(8);
    format!("…{}", thread.get(tail..).unwrap_or(thread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_four_digits() {
        let rows = [
            (0, "$0.0000"),
            (1, "<$0.0001"),
            (49_999, "<$0.0001"),
            (50_000, "$0.0001"),
            (33_800_000, "$0.0338"),
            (999_950_000, "$1.0000"),
            (1_234_500_000_000, "$1,234.5000"),
        ];
        for (nanos, expected) in rows {
            assert_eq!(dollars(Nanos::new(nanos)), expected);
            assert_eq!(usd(Nanos::new(nanos)), expected.replace('$', ""));
        }
    }

    #[test]
    fn a_limit_is_exact() {
        for (nanos, expected) in [(500_000_000, "$0.50"), (1_234_000_000_001, "$1,234.000000001")] {
            assert_eq!(limit(Nanos::new(nanos)), expected);
        }
    }

    #[test]
    fn durations_change_their_unit_where_they_round() {
        let rows = [
            (0, "0 ms"),
            (99, "99 ms"),
            (100, "0.1 s"),
            (6_240, "6.2 s"),
            (59_949, "59.9 s"),
            (59_950, "1 m 00 s"),
            (73_000, "1 m 13 s"),
            (3_599_499, "59 m 59 s"),
            (3_599_500, "1 h 00 m"),
            (7_380_000, "2 h 03 m"),
        ];
        for (millis, expected) in rows {
            assert_eq!(duration(millis), expected);
        }
    }

    #[test]
    fn figures_are_grouped_and_cut() {
        assert_eq!(with_commas(1_234_567), "1,234,567");
        assert_eq!(with_commas(12), "12");
        let counts = [9_310, 540_000, 15_940_000, 2_000_000_000].map(compact);
        assert_eq!(counts, ["9,310", "540 k", "15.9 M", "2 G"]);
        assert_eq!(offset(101_960), "1:41.9");
        assert_eq!(count_noun(1, "line"), "1 line");
        assert_eq!(bytes(1_950), "1.9 kB");
        assert_eq!(key(&"73a7".repeat(16)), "73a7 73a7 73a7 73a7 …");
        let moment = Moment::from_unix_millis(1_795_197_600_250);
        assert_eq!(day_and_time(moment), "20 Nov 2026, 18:00:00 UTC");
        assert_eq!(short_time(moment), "20 Nov, 18:00");
        assert_eq!(time_of_day(moment), "18:00:00.250 UTC");
        assert_eq!(short_id("a-01a20274"), "…01a20274");
    }
}
