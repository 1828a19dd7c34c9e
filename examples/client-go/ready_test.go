package ready

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

type facts struct{ Control, Kubeconfig string }

func start(t *testing.T) facts {
	command := exec.Command("actorlet", "simulate-cluster", "--nodes", "2", "--json", "--until-input-ends")
	input, _ := command.StdinPipe()
	output, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { input.Close(); command.Wait() })
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		t.Fatal("the cluster did not start: ", err)
	}
	var cluster facts
	if err := json.Unmarshal(line, &cluster); err != nil {
		t.Fatal(err)
	}
	return cluster
}

func order(t *testing.T, cluster facts, name, fields string) {
	answer, err := http.Post(cluster.Control+"/v1/"+name, "application/json", strings.NewReader(fields))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		told, _ := io.ReadAll(answer.Body)
		t.Fatalf("%s: %s", name, told)
	}
}

func TestReadyPodsAreCounted(t *testing.T) {
	cluster := start(t)
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	pods := Follow(t.Context(), kubernetes.NewForConfigOrDie(config))
	order(t, cluster, "load", `{"name": "web", "replicas": 4}`)
	order(t, cluster, "step", `{"time": "1m"}`)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the last events are on their way
	defer cancel()
	for count := 0; count != 4; {
		if count, err = Count(pods, "default"); err != nil || ctx.Err() != nil {
			t.Fatal(count, " are Ready, not 4: ", err, ctx.Err())
		}
		time.Sleep(20 * time.Millisecond)
	}
}
