//! POST of an object.

use evenkeel_meta::{Status, StatusCause};

use super::Call;
use super::write::Write;
use crate::http::{Reply, decode_body};
use crate::object::meta_text;

pub(super) fn create(call: &Call) -> Result<Reply, Status> {
    let write = Write::of(call, "CreateOptions")?;
    let (object, warnings) =
        write.admit(decode_body(&call.request.headers, &call.request.body)?)?;
    if meta_text(&object, "name").is_none() && meta_text(&object, "generateName").is_none() {
        let cause = StatusCause {
            reason: "FieldValueRequired".into(),
            message: "Required value: name or generateName is required".into(),
            field: "metadata.name".into(),
        };
        return Err(Status::invalid(&call.resource.gvk(), "", vec![cause]));
    }
    let written = write.create(object, warnings)?;
    Ok(call.reply(201, &written.record)?.warn(written.warnings))
}
