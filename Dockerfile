# docker build -t zarrd . && docker run -p 8080:8080 -v /srv/era.zarr:/data:ro zarrd
# One static program, the certificates of public servers, and nothing else: no shell, no C library, no user but a number. It writes
# nowhere.
FROM docker.io/library/debian:trixie-slim AS build
WORKDIR /src
COPY deploy/install deploy/source deploy/microhttpd deploy/curl deploy/
COPY deploy/packages deploy/packages
RUN bash -euc '. deploy/install; install_packages build static' && deploy/microhttpd && deploy/curl && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY . .
RUN cmake --preset static && cmake --build --preset static --target zarrd && cmake --install build/static --component program --prefix /image/usr --strip \
 && mkdir -p /image/data /image/usr/share/doc/zarrd && cp LICENSE /image/usr/share/doc/zarrd/zarrd && cp core/picture/COLORMAPS.md core/picture/LICENSE.Apache-2.0 /image/usr/share/doc/zarrd/ \
 && cp build/microhttpd/COPYING /image/usr/share/doc/zarrd/libmicrohttpd && cp build/curl/COPYING /image/usr/share/doc/zarrd/libcurl \
 && mkdir -p /image/etc/ssl/certs && cp -L /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
 && for package in libblosc libbz2 libc-ares libc6 libdeflate libexpat1 libjansson liblz4 liblzma libnghttp2 libpng libsnappy libssl libuv1 libxxhash \
        libzstd zlib1g; do \
        cp -L /usr/share/doc/$package-dev/copyright /image/usr/share/doc/zarrd/$package || exit 1; done

FROM scratch AS runtime
LABEL org.opencontainers.image.title="zarrd" org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.description="Zarr hierarchies over HTTP: decoded slices for everybody, stored keys for Zarr clients"
COPY --from=build /image /
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["/usr/bin/zarrd", "--health", "http://127.0.0.1:8080/readyz"]
# What is mounted at /data is served as the dataset "data"; arguments of `docker run` name others.
ENTRYPOINT ["/usr/bin/zarrd", "--listen", "0.0.0.0:8080"]
CMD ["/data"]
