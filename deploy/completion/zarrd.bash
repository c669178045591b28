# Completion of zarrd for bash. Made by docs/reference/build.
# shellcheck shell=bash disable=SC2207

_zarrd_value() {
    local key=$1 value=$2
    case $key in
        http.server_timing) COMPREPLY=($(compgen -W 'true false' -- "$value")) ;;
        http.show_locations) COMPREPLY=($(compgen -W 'true false' -- "$value")) ;;
        access.anonymous) COMPREPLY=($(compgen -W 'read none write' -- "$value")) ;;
        access.protect_service) COMPREPLY=($(compgen -W 'true false' -- "$value")) ;;
        trace.parent) COMPREPLY=($(compgen -W 'true false' -- "$value")) ;;
        log.format) COMPREPLY=($(compgen -W 'text json' -- "$value")) ;;
        log.level) COMPREPLY=($(compgen -W 'error warning info debug' -- "$value")) ;;
        log.requests) COMPREPLY=($(compgen -W 'true false' -- "$value")) ;;
        *_file|*_path) COMPREPLY=($(compgen -f -- "$value")) ;;
    esac
}

_zarrd_setting() {
    local keys='
        http.connections=
        http.connection_bytes=
        http.address_connections=
        http.head_ms=
        http.body_ms=
        http.body_least_bytes=
        http.reader_ms=
        http.reader_least_bytes=
        http.idle_ms=
        http.drain_ms=
        http.drain_lag_ms=
        http.request_ms=
        http.commit_ms=
        http.cors_origin=
        http.cors_origins=
        http.hosts=
        http.trusted_proxies=
        http.stream_bytes=
        http.datasets_ms=
        http.server_timing=
        http.show_locations=
        access.anonymous=
        access.tokens_file=
        access.protect_service=
        access.signing_keys_file=
        access.sign_s=
        access.requests_per_s=
        access.bytes_per_s=
        access.jwks_file=
        access.jwks_url=
        access.jwks_ms=
        access.jwks_stale_ms=
        access.jwt_issuer=
        access.jwt_audience=
        access.jwt_leeway_s=
        cache.decoded_bytes=
        cache.encoded_bytes=
        cache.metadata_bytes=
        cache.disk_path=
        cache.disk_bytes=
        memory.bytes=
        admission.bytes=
        admission.small_bytes=
        admission.running=
        admission.waiting=
        admission.wait_ms=
        workers.count=
        workers.inline_us=
        limits.slice_bytes=
        limits.slice_chunks=
        limits.stats_bytes=
        limits.coordinate_bytes=
        limits.image_pixels=
        limits.chunk_bytes=
        limits.object_bytes=
        limits.document_bytes=
        limits.document_nodes=
        limits.document_depth=
        limits.consolidated_bytes=
        limits.tree_nodes=
        limits.tree_bytes=
        limits.batch_chunks=
        limits.batch_bytes=
        limits.url_bytes=
        limits.body_bytes=
        limits.write_bytes=
        limits.lock_ms=
        limits.upload_bytes=
        remote.connections=
        remote.connect_ms=
        remote.silence_ms=
        remote.retries=
        remote.hedge_percent=
        remote.read_ahead=
        remote.breaker_ms=
        remote.ca_file=
        events.window_bytes=
        events.readers=
        events.address_readers=
        events.heartbeat_ms=
        trace.url=
        trace.per_million=
        trace.parent=
        trace.spans=
        trace.send_ms=
        trace.wait_ms=
        log.format=
        log.level=
        log.requests=
        log.audit_file=
    '
    COMPREPLY=($(compgen -W "$keys" -- "$1"))
    compopt -o nospace 2>/dev/null
}

_zarrd() {
    local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    # '=' separates words: --set cache.decoded_bytes = 1GiB are four of them.
    if [ "$cur" = "=" ] && ((COMP_CWORD > 2)) && [ "${COMP_WORDS[COMP_CWORD - 2]}" = --set ]; then
        _zarrd_value "$previous" ""
        return
    fi
    if [ "$previous" = "=" ] && ((COMP_CWORD > 3)) && [ "${COMP_WORDS[COMP_CWORD - 3]}" = --set ]; then
        _zarrd_value "${COMP_WORDS[COMP_CWORD - 2]}" "$cur"
        return
    fi
    case $previous in
        -c|--config|--port-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --set) _zarrd_setting "$cur"; return ;;
        -l|--listen|--health|--new-token) return ;;
    esac
    case $cur in
        -*) COMPREPLY=($(compgen -W '-c --config -l --listen -w --writable --port-file --set --check-config --health --new-token --version -h --help' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -- "$cur")) ;;
    esac
}

complete -o filenames -F _zarrd zarrd
