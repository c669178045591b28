# docker build -t zarrd . && docker run -p 8080:8080 -v /data:/data:ro zarrd /data/era.zarr
FROM docker.io/library/debian:trixie-slim AS build
WORKDIR /src
COPY deploy deploy
RUN bash -euc '. deploy/install; install_packages build' && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY . .
RUN cmake --preset release && cmake --build --preset release --target zarrd

FROM docker.io/library/debian:trixie-slim AS runtime
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates libblosc1 libdeflate0 libjansson4 libmicrohttpd12t64 libuv1t64 libxxhash0 libzstd1 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
 && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin zarrd
COPY --from=build /src/build/release/zarrd /usr/bin/zarrd
USER 10001:10001
EXPOSE 8080
ENTRYPOINT ["/usr/bin/zarrd", "--listen", "0.0.0.0:8080"]
