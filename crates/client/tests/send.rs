//! Every future and stream can go to another thread: a test of the compiler.

use evenkeel_client::{
    Api, AttachOptions, Client, DiscoveryCache, Error, ExecOptions, ListOptions, LogOptions, Patch,
    PatchOptions, PodHandle, Process, RestMapper, Subresource, Tunnel, Waiter, WatchOptions,
    WriteOptions, wait,
};
use evenkeel_meta::{DeleteOptions, DynamicObject, GroupResource, GroupVersionKind};
use tokio::time::Instant;

fn is_send<T: Send>(_: T) {}

fn is_static<T: Send + 'static>(_: T) {}

fn client(client: &'static Client, cache: &'static DiscoveryCache, mapper: &'static RestMapper) {
    is_static(client.discover());
    is_static(client.raw(http::Request::default()));
    is_static(cache.get());
    is_static(cache.newer_than(Instant::now()));
    is_send(async {
        let kind = GroupVersionKind::from_api_version("v1", "Pod");
        let _ = mapper.by_kind(&kind).await;
        let _ = mapper.by_group_kind("", "Pod").await;
        let resource = GroupResource {
            group: "".into(),
            resource: "pods".into(),
        };
        let _ = mapper.by_resource(&resource).await;
        let _ = mapper.find("po").await;
    });
}

fn reading(api: &Api<DynamicObject>, list: &ListOptions, watch: &WatchOptions) {
    is_send(api.get("a"));
    is_send(api.get_opt("a"));
    is_send(api.list(list));
    is_send(api.list_page(list));
    is_send(api.stream_page(list));
    is_send(api.each_page(list, 1, |_| async { Ok::<(), Error>(()) }));
    is_send(api.watch(watch));
    is_static(api.retry_watch(watch));
    is_send(api.wait_for("a", wait::is_present()));
    is_send(async {
        let Ok(mut page) = api.stream_page(list).await else {
            return;
        };
        let _ = futures_util::StreamExt::next(&mut page).await;
    });
}

fn waiting(waiter: &mut Waiter<DynamicObject>) {
    is_send(waiter.until(wait::is_established()));
    is_send(waiter.until(wait::condition_is("Ready", "True")));
    is_send(waiter.until(wait::is_deleted("u".into())));
}

fn writing(
    api: &Api<DynamicObject>,
    scale: &Subresource<DynamicObject>,
    object: &DynamicObject,
    patch: &Patch,
) {
    let (write, patching) = (&WriteOptions::default(), &PatchOptions::default());
    let delete = &DeleteOptions::default();
    is_send(api.create(object, write));
    is_send(api.update(object, write));
    is_send(api.update_status(object, write));
    is_send(api.patch("a", patch, patching));
    is_send(api.patch_status("a", patch, patching));
    is_send(api.apply("a", object, patching));
    is_send(api.delete("a", delete));
    let selection = ListOptions::default();
    is_send(api.delete_collection(delete, &selection));
    is_send(scale.get("a"));
    is_send(scale.create("a", object, write));
    is_send(scale.update("a", object, write));
    is_send(scale.patch("a", patch, patching));
}

fn pods(pod: &PodHandle, process: fn() -> Process, tunnel: fn() -> Tunnel) {
    let (log, exec) = (LogOptions::default(), ExecOptions::new(["date"]));
    is_send(pod.logs(&log));
    is_send(pod.exec(&exec));
    let attach = AttachOptions::default();
    is_send(pod.attach(&attach));
    is_send(pod.connect(80));
    is_static(process().output());
    is_static(tunnel());
    let mut running = process();
    is_send(running.resize(80, 24));
    is_send(running.status());
    is_static(process().stdin);
    is_static(process().stdout);
}

#[test]
fn every_public_future_is_send() {
    // That they compile is the test; they have nothing to talk to.
    let _ = (client, reading, waiting, writing, pods);
}
