//! Kubernetes quantities (`500m`, `1.5Gi`, `2e3`), for comparing them.

use std::cmp::Ordering;

/// Compares two quantities; `None` if one of them is none.
pub(crate) fn compare(a: &str, b: &str) -> Option<Ordering> {
    Some(Quantity::parse(a)?.cmp(&Quantity::parse(b)?))
}

/// A number as `digits * 2^twos * 10^tens`, exact.
#[derive(Debug, PartialEq, Eq)]
struct Quantity {
    digits: i128,
    twos: u32,
    tens: i32,
}

impl Quantity {
    fn parse(text: &str) -> Option<Self> {
        let end =
            text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-')).unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (sign, plain) = match number.as_bytes().first()? {
            b'-' => (-1, &number[1..]),
            b'+' => (1, &number[1..]),
            _ => (1, number),
        };
        let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        if digits().count() == 0 || digits().count() > 30 || !digits().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let (twos, tens) = match suffix {
            "" => (0, 0),
            "n" => (0, -9),
            "u" => (0, -6),
            "m" => (0, -3),
            "k" => (0, 3),
            "M" => (0, 6),
            "G" => (0, 9),
            "T" => (0, 12),
            "P" => (0, 15),
            "E" => (0, 18),
            "Ki" => (10, 0),
            "Mi" => (20, 0),
            "Gi" => (30, 0),
            "Ti" => (40, 0),
            "Pi" => (50, 0),
            "Ei" => (60, 0),
            _ => (0, suffix.strip_prefix(['e', 'E'])?.parse().ok().filter(|e| (-30..=30).contains(e))?),
        };
        Some(Self { digits: sign * digits, twos, tens: tens - fraction.len() as i32 })
    }

    fn cmp(&self, other: &Self) -> Ordering {
        // Scaled to the smaller power of ten, both are whole numbers; where even i128 is too small, f64 decides.
        let tens = self.tens.min(other.tens);
        let scaled = |q: &Self| {
            let power = 10i128.checked_pow((q.tens - tens) as u32)?;
            q.digits.checked_mul(power)?.checked_mul(1i128.checked_shl(q.twos)?)
        };
        let rough = |q: &Self| q.digits as f64 * 2f64.powi(q.twos as i32) * 10f64.powi(q.tens);
        match (scaled(self), scaled(other)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => rough(self).total_cmp(&rough(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_compare_by_size() {
        for (a, b, order) in [
            ("1", "1000m", Ordering::Equal),
            ("1Ki", "1024", Ordering::Equal),
            ("1.5Gi", "1536Mi", Ordering::Equal),
            ("1e3", "1k", Ordering::Equal),
            ("500m", "1", Ordering::Less),
            ("2G", "2Gi", Ordering::Less),
            ("-1", "0", Ordering::Less),
            ("10E", "1Pi", Ordering::Greater),
            ("0.1", "100m", Ordering::Equal),
        ] {
            assert_eq!(compare(a, b), Some(order), "{a} against {b}");
        }
    }

    #[test]
    fn what_is_not_a_quantity_does_not_compare() {
        for text in ["", "nginx", "1x", ".", "--1", "1e99", "1-2"] {
            assert_eq!(compare(text, "1"), None, "{text:?}");
        }
    }
}
