// Dex, an OpenID Connect provider, with its state in memory and one person: what the integration test logs in at.
//
// The command of Dex itself cannot be installed from the module proxy any more: it needs a database driver that is
// not there. This is its server package, whole.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	port := flag.String("port", "", "where it listens on loopback")
	web := flag.String("web", "", "the folder of its pages; `web` beside this if left out")
	client := flag.String("client", "", "the id of its client")
	secret := flag.String("secret", "", "the secret of its client")
	redirect := flag.String("redirect", "", "where its client is called back")
	email := flag.String("email", "", "the address of the person")
	password := flag.String("password", "", "the password of the person")
	rotate := flag.Duration("rotate", time.Hour, "how often it signs with a new key")
	flag.Parse()
	if *web == "" {
		own, err := os.Executable()
		if err != nil {
			log.Fatal(err)
		}
		*web = filepath.Join(filepath.Dir(own), "web")
	}

	hash, err := bcrypt.GenerateFromPassword([]byte(*password), 10)
	if err != nil {
		log.Fatal(err)
	}
	logger := &logrus.Logger{Out: os.Stderr, Formatter: &logrus.TextFormatter{}, Level: logrus.InfoLevel}
	kept := storage.WithStaticClients(memory.New(logger), []storage.Client{
		{ID: *client, Secret: *secret, RedirectURIs: []string{*redirect}, Name: "Headgate"},
	})
	kept = storage.WithStaticPasswords(kept, []storage.Password{
		{Email: *email, Hash: hash, Username: "somebody", UserID: "1"},
	}, logger)
	kept = storage.WithStaticConnectors(kept, []storage.Connector{
		{ID: server.LocalConnector, Name: "Email", Type: server.LocalConnector},
	})
	listener, err := net.Listen("tcp", "127.0.0.1:"+*port)
	if err != nil {
		log.Fatal(err)
	}
	handler, err := server.NewServer(context.Background(), server.Config{
		Issuer:             "http://" + listener.Addr().String(),
		Storage:            kept,
		SkipApprovalScreen: true,
		RotateKeysAfter:    *rotate,
		Web:                server.WebConfig{Dir: *web},
		Logger:             logger,
		PrometheusRegistry: prometheus.NewRegistry(),
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("issuer http://%s", listener.Addr())
	log.Fatal(http.Serve(listener, handler))
}
