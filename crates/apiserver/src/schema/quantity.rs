use std::fmt;

/// An amount such as `500m` or `1536Mi`.
///
/// Compared by value; displayed in the canonical form that servers store: the largest suffix that
/// leaves an integer, in the family (decimal, binary, exponent) that it was written in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    nanos: i128,
    family: Family,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Decimal,
    Binary,
    Exponent,
}

const NANOS: i128 = 1_000_000_000;
const DECIMAL: &[(&str, i32)] = &[
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: &[(&str, u32)] = &[
    ("Ki", 10),
    ("Mi", 20),
    ("Gi", 30),
    ("Ti", 40),
    ("Pi", 50),
    ("Ei", 60),
];

/// Text that is no quantity; displays as the real server's complaint.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuantityError {
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

impl std::str::FromStr for Quantity {
    type Err = QuantityError;

    /// Digits below one nano are rounded up, as servers do.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(QuantityError::Format);
        }
        let (family, scale) = Scale::of(suffix)?;
        let nanos = scale.apply(whole, fraction).ok_or(QuantityError::Format)?;
        Ok(Self {
            nanos: if negative { -nanos } else { nanos },
            family,
        })
    }
}

/// What a suffix multiplies by.
#[derive(Clone, Copy)]
enum Scale {
    Ten(i32),
    Two(u32),
}

impl Scale {
    fn of(suffix: &str) -> Result<(Family, Self), QuantityError> {
        if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
            return Ok((Family::Decimal, Self::Ten(*power)));
        }
        if let Some((_, power)) = BINARY.iter().find(|(name, _)| *name == suffix) {
            return Ok((Family::Binary, Self::Two(*power)));
        }
        if let Some(power) = suffix.strip_prefix(['e', 'E']) {
            let power = power.parse().map_err(|_| QuantityError::Suffix)?;
            return Ok((Family::Exponent, Self::Ten(power)));
        }
        let known = |c: char| "eEinumkKMGTP+-".contains(c) || c.is_ascii_digit();
        Err(if suffix.chars().all(known) {
            QuantityError::Suffix
        } else {
            QuantityError::Format
        })
    }

    /// The value in nanos, rounded up; `None` when it is beyond all use.
    fn apply(self, whole: &str, fraction: &str) -> Option<i128> {
        let fraction = fraction.trim_end_matches('0');
        if whole.len() + fraction.len() > 36 {
            return None;
        }
        let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        let (digits, power) = match self {
            Self::Ten(power) => (digits, power.checked_sub(places)?),
            Self::Two(power) => (digits.checked_mul(1 << power)?, -places),
        };
        let power = power.checked_add(9)?;
        if digits == 0 {
            return Some(0);
        }
        let factor = 10i128.checked_pow(power.unsigned_abs());
        if power >= 0 {
            return digits.checked_mul(factor?);
        }
        Some(factor.map_or(1, |factor| {
            digits / factor + i128::from(digits % factor != 0)
        }))
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let whole = self.nanos / NANOS;
        if self.family == Family::Binary && self.nanos % NANOS == 0 && whole.abs() >= 1024 {
            let fits = BINARY
                .iter()
                .rev()
                .find(|(_, power)| whole % (1 << power) == 0);
            return match fits {
                Some((suffix, power)) => write!(f, "{}{suffix}", whole >> power),
                None => write!(f, "{whole}"),
            };
        }
        let (mut number, mut power) = (self.nanos, -9);
        while number % 1000 == 0 && power < 18 {
            number /= 1000;
            power += 3;
        }
        match (self.family, power) {
            (_, 0) => write!(f, "{number}"),
            (Family::Exponent, power) => write!(f, "{number}e{power}"),
            (_, power) => {
                let suffix = DECIMAL
                    .iter()
                    .find(|(_, of)| *of == power)
                    .map_or("", |(suffix, _)| suffix);
                write!(f, "{number}{suffix}")
            }
        }
    }
}

impl Quantity {
    pub(crate) fn is_negative(self) -> bool {
        self.nanos < 0
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nanos.cmp(&other.nanos)
    }
}
