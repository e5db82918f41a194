//! Scalars as the real server's decoder takes them, in their canonical form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use crate::schema::{Quantity, Scalar, ScalarKind};

/// A value that its type does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Misfit {
    /// The wrong JSON type; the decoder adds where.
    #[error("json: cannot unmarshal {what} into Go value of type {into}")]
    Unmarshal { what: String, into: String },
    /// The right JSON type with a wrong text; the decoder does not say where.
    #[error("{0}")]
    Text(String),
}

impl Misfit {
    pub(crate) fn unmarshal(value: &Value, into: &str) -> Self {
        let what = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        Self::Unmarshal {
            what: what.to_owned(),
            into: into.to_owned(),
        }
    }

    /// A number that the integer type cannot hold.
    fn number(value: &Value, into: &str) -> Self {
        Self::Unmarshal {
            what: format!("number {value}"),
            into: into.to_owned(),
        }
    }
}

/// Checks a value that is not null and gives it its canonical form.
pub(crate) fn normalize(scalar: &Scalar, value: &mut Value) -> Result<(), Misfit> {
    match (scalar.kind, &mut *value) {
        (ScalarKind::String, Value::String(_)) | (ScalarKind::Bool, Value::Bool(_)) => Ok(()),
        (ScalarKind::Int32 | ScalarKind::Int64, Value::Number(_)) => {
            integer(scalar.kind, &scalar.go_name, value)
        }
        (ScalarKind::Double, Value::Number(number)) => {
            // Go writes a float without a fraction as an integer.
            if let Some(float) = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() < 1e15)
            {
                *value = Value::from(float as i64);
            }
            Ok(())
        }
        (ScalarKind::IntOrString, Value::String(_)) => Ok(()),
        (ScalarKind::IntOrString, _) => {
            integer(ScalarKind::Int32, ScalarKind::Int32.go_name(), value)
        }
        (ScalarKind::Bytes, Value::String(text)) => bytes(text),
        (ScalarKind::Quantity, _) => quantity(value),
        (ScalarKind::Time | ScalarKind::MicroTime, Value::String(text)) => time(scalar.kind, text),
        (ScalarKind::Time | ScalarKind::MicroTime, value) => {
            Err(Misfit::unmarshal(value, "string"))
        }
        (_, value) => Err(Misfit::unmarshal(value, &scalar.go_name)),
    }
}

/// Whether a canonical value is its type's zero.
pub(crate) fn is_zero(kind: ScalarKind, value: &Value) -> bool {
    match (kind, value) {
        (ScalarKind::Bool, Value::Bool(value)) => !value,
        (ScalarKind::Int32 | ScalarKind::Int64 | ScalarKind::Double, Value::Number(number)) => {
            number.as_f64() == Some(0.0)
        }
        (ScalarKind::String | ScalarKind::Bytes, Value::String(text)) => text.is_empty(),
        _ => false,
    }
}

fn integer(kind: ScalarKind, go_name: &str, value: &Value) -> Result<(), Misfit> {
    let Value::Number(number) = value else {
        return Err(Misfit::unmarshal(value, go_name));
    };
    match number.as_i64() {
        Some(number) if kind == ScalarKind::Int64 || i32::try_from(number).is_ok() => Ok(()),
        _ => Err(Misfit::number(value, go_name)),
    }
}

fn bytes(text: &str) -> Result<(), Misfit> {
    // Go skips line breaks.
    let plain: String;
    let text = if text.contains(['\r', '\n']) {
        plain = text.replace(['\r', '\n'], "");
        &plain
    } else {
        text
    };
    match STANDARD.decode(text) {
        Ok(_) => Ok(()),
        Err(error) => {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _)
                | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => {
                    text.len() / 4 * 4
                }
            };
            Err(Misfit::Text(format!(
                "illegal base64 data at input byte {at}"
            )))
        }
    }
}

fn quantity(value: &mut Value) -> Result<(), Misfit> {
    let text = match &*value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let quantity: Quantity = text
        .trim()
        .parse()
        .map_err(|error| Misfit::Text(format!("{error}")))?;
    let canonical = quantity.to_string();
    if value.as_str() != Some(&canonical) {
        *value = Value::String(canonical);
    }
    Ok(())
}

fn time(kind: ScalarKind, text: &mut String) -> Result<(), Misfit> {
    let micro = kind == ScalarKind::MicroTime;
    let layout = if micro {
        "2006-01-02T15:04:05.000000Z07:00"
    } else {
        "2006-01-02T15:04:05Z07:00"
    };
    let complaint = |part: &str, expected: &str| {
        Misfit::Text(format!(
            "parsing time \"{text}\" as \"{layout}\": cannot parse \"{part}\" as \"{expected}\""
        ))
    };
    let has_shape = text.as_bytes().get(10) == Some(&b'T')
        && text.ends_with(['Z', 'z', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    let parsed = text.parse::<Timestamp>().ok().filter(|_| has_shape);
    let Some(parsed) = parsed else {
        return Err(complaint(text, "2006"));
    };
    // Go takes exactly as many digits as it writes.
    let fraction = text.get(19..).unwrap_or_default();
    let digits = fraction
        .bytes()
        .skip(1)
        .take_while(u8::is_ascii_digit)
        .count();
    if micro && (!fraction.starts_with('.') || digits != 6) {
        return Err(complaint(fraction, ".000000"));
    }
    let canonical = if micro {
        parsed.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    } else {
        parsed.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    };
    if *text != canonical {
        *text = canonical;
    }
    Ok(())
}
