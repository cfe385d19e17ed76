//! Floating-point numbers as text, the way Go writes them.

// quirk(numbers-pass-through-json): Numbers are written as JSON has them: `1.50` becomes `1.5`, `0777` becomes `511`,
// `1e3` becomes `1000`, and large ones get an exponent. (kyaml `RNode.MarshalJSON`, Go `strconv.FormatFloat`)

use std::fmt::Write;

/// Appends a finite number as Go's `encoding/json` does: digits alone, with an exponent only for the very small and the
/// very large.
pub(crate) fn json(n: f64, out: &mut String) {
    let size = n.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let (digits, exponent) = scientific(n);
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{digits}e{sign}{}", exponent.abs());
    } else {
        let _ = write!(out, "{n}");
    }
}

/// Appends a number as the canonical form has it: an integer where JSON shows one that fits 64 bits, else digits with an
/// exponent from a million on and below a ten-thousandth.
pub(crate) fn yaml(n: f64, out: &mut String) {
    if n.is_nan() {
        return out.push_str(".nan");
    }
    if n.is_infinite() {
        return out.push_str(if n > 0.0 { ".inf" } else { "-.inf" });
    }
    if n.fract() == 0.0 && n > i64::MIN as f64 && n < u64::MAX as f64 {
        // Adding zero turns -0 into 0.
        let _ = write!(out, "{}", n + 0.0);
        return;
    }
    let (digits, exponent) = scientific(n);
    if (-4..6).contains(&exponent) || n == 0.0 {
        let _ = write!(out, "{n}");
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{digits}e{sign}{:02}", exponent.abs());
    }
}

/// A number as Go prints it for a string field of JSON: an integer where JSON shows one that fits 64 bits, else in single
/// precision.
pub(crate) fn single(n: f64) -> String {
    let mut text = String::new();
    if n.fract() == 0.0 && n > i64::MIN as f64 && n < u64::MAX as f64 {
        yaml(n, &mut text);
        return text;
    }
    let n = n as f32;
    if n.is_infinite() {
        return if n > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    // The shortest digits that mean the number in single precision.
    let shortest = format!("{n:e}");
    let (digits, exponent) = shortest.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is an integer");
    if (-4..6).contains(&exponent) {
        return format!("{n}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// The shortest digits that mean the number, and its exponent: `12.5` is `1.25` and `1`.
fn scientific(n: f64) -> (String, i32) {
    let text = format!("{n:e}");
    let (digits, exponent) = text.split_once('e').expect("the format has an exponent");
    (digits.to_owned(), exponent.parse().expect("the exponent is an integer"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_written_as_the_reference_writes_them() {
        let both = |n| {
            let (mut yaml, mut json) = (String::new(), String::new());
            super::yaml(n, &mut yaml);
            super::json(n, &mut json);
            [yaml, json]
        };
        assert_eq!(both(1.0), ["1", "1"]);
        assert_eq!(both(-0.0), ["0", "-0"]);
        assert_eq!(both(0.1), ["0.1", "0.1"]);
        assert_eq!(both(1e20), ["1e+20", "100000000000000000000"]);
        assert_eq!(both(1e21), ["1e+21", "1e+21"]);
        assert_eq!(both(1e-7), ["1e-07", "1e-7"]);
        assert_eq!(both(0.00001), ["1e-05", "0.00001"]);
        assert_eq!(both(1234567.5), ["1.2345675e+06", "1234567.5"]);
        assert_eq!(both(123456.5), ["123456.5", "123456.5"]);
        assert_eq!(both(1e15), ["1000000000000000", "1000000000000000"]);
        assert_eq!(both(f64::MAX), ["1.7976931348623157e+308", "1.7976931348623157e+308"]);
    }
}
