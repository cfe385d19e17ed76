//! Results of calls on a server, by the digest of the call.

use krm_engine::runtime::reapi::{ActionResult, Digest};

use super::client::Client;
use super::messages::{GetActionResultRequest, UpdateActionResultRequest};
use super::status::{Code, Status};

impl Client {
    /// The result of a call, if the server has one.
    pub fn result(&self, action: &Digest) -> Result<Option<ActionResult>, Status> {
        let request = GetActionResultRequest {
            instance_name: self.instance.clone(),
            action_digest: Some(action.clone()),
            inline_stdout: true,
            inline_stderr: true,
        };
        let method = "/build.bazel.remote.execution.v2.ActionCache/GetActionResult";
        match self.retry(|| self.channel.unary(method, &request, self.within)) {
            Ok(result) => Ok(Some(result)),
            Err(status) if status.code == Code::NOT_FOUND => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Has the server keep a result. The blobs it names are there.
    pub fn keep_result(&self, action: &Digest, result: ActionResult) -> Result<(), Status> {
        let request = UpdateActionResultRequest {
            instance_name: self.instance.clone(),
            action_digest: Some(action.clone()),
            action_result: Some(result),
        };
        let method = "/build.bazel.remote.execution.v2.ActionCache/UpdateActionResult";
        let _: ActionResult = self.retry(|| self.channel.unary(method, &request, self.within))?;
        Ok(())
    }
}
