//! GET of one object.

use evenkeel_meta::Status;

use super::Call;
use super::list::wait_for_version;
use crate::http::{ListOptions, Reply};

pub(super) async fn get(call: &Call) -> Result<Reply, Status> {
    let options = ListOptions::parse(&call.request.query)?;
    if let Some(version) = options.version {
        wait_for_version(&call.state, version).await?;
    }
    call.reply(200, &*call.live()?)
}
