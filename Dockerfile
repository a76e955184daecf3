# kcount with the CPU engine, on Debian 12:  docker build -t kcount .
FROM debian:12 AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
COPY . /kcount
# scripts/check_container.sh runs these commands without knowing WORKDIR.
# hadolint ignore=DL3003
RUN cd /kcount && . scripts/setup.sh && install_packages "${BUILD_PACKAGES[@]}" && \
    build /build -DBUILD_TESTING=OFF -DKCOUNT_BENCH=OFF -DCMAKE_INSTALL_PREFIX=/usr && \
    DESTDIR=/image cmake --install /build

FROM debian:12-slim
# bash and ps are what workflow managers need in a container. The newest packages are wanted.
# hadolint ignore=DL3008
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        bash procps libhts3 libdeflate0 libisal2 libzstd1 libbz2-1.0 liblzma5 libxxhash0 zlib1g \
        libcminpack1 libssl3 && \
    rm -rf /var/lib/apt/lists/*
COPY --from=build /image /
WORKDIR /data
CMD ["kcount"]
